/* Reads files instead of a sensor: the files on the command line, one after the other, or standard input. */
#include "sensor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "file_rows.h"

static char *standard_input[] = {"-", NULL};
static char *const *files;
static FILE *file; /* the first of `files`; NULL before it is open */
static char fault[300];

enum sensor_status sensor_begin(char *const *names)
{
    files = *names != NULL ? names : standard_input;
    return SENSOR_ROW;
}

static int is_standard_input(void)
{
    return strcmp(*files, "-") == 0;
}

static enum sensor_status failed(const char *why)
{
    (void)snprintf(fault, sizeof fault, "%s: %s", is_standard_input() ? "standard input" : *files, why);
    return SENSOR_FAILED;
}

static enum sensor_status open_file(void)
{
    const char *why;

    file = is_standard_input() ? stdin : fopen(*files, "rb");
    if (file == NULL) {
        return failed(strerror(errno));
    }
    why = file_open(file);
    return why != NULL ? failed(why) : SENSOR_ROW;
}

static void close_file(void)
{
    if (file != stdin) {
        (void)fclose(file);
    }
    file = NULL;
    files++;
}

enum sensor_status sensor_read(app_element *row, uint32_t *lost_rows)
{
    (void)lost_rows; /* no rows are lost: a file waits */
    while (*files != NULL) {
        const char *why = NULL;

        if (file == NULL && open_file() == SENSOR_FAILED) {
            return SENSOR_FAILED;
        }
        if (file_row(file, row, &why)) {
            return SENSOR_ROW;
        }
        if (why != NULL) {
            return failed(why);
        }
        close_file();
    }
    return SENSOR_END;
}

const char *sensor_fault(void)
{
    return fault;
}
