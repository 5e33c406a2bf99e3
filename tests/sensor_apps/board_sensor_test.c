/* Plays interrupts against the queue of a board's sensor: rows come while the program waits, and more than it holds. */
#include <stdio.h>

#include "solder_port.h"

static uint32_t now;

uint32_t solder_port_ticks(void)
{
    return now;
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {1000u, 16}; /* a tick is a millisecond; it wraps after a minute */
    return counter;
}

static unsigned due; /* rows that come with the next interrupt */
static uint16_t made;

#include "sensor_under_test.c"

static void interrupt(void)
{
    now = (now + 100u) & 0xFFFFu;
    for (; due > 0; due--) {
        const app_element row[ROW_ELEMENTS] = {++made, made};

        sensor_row_came(row);
    }
}

static void read_one(void)
{
    static const char *const names[] = {"row", "end", "stalled", "failed"};
    app_element row[ROW_ELEMENTS] = {0};
    uint32_t lost = 0;
    const enum sensor_status status = sensor_read(row, &lost);

    printf("%s %u, %lu lost before it\n", names[status], (unsigned)row[0], (unsigned long)lost);
}

#ifdef PICTURES
int main(void)
{
    (void)sensor_begin(NULL);
    for (unsigned picture = 0; picture < 2; picture++) {
        sensor_picture_begins();
        due = 2;
        interrupt();
        read_one();
        read_one();
    }
    return 0;
}
#else
int main(void)
{
    came = taken = 0xFFFFFFFCu; /* the count of rows wraps in the middle of what follows */
    now = 0xFF00u;
    if (sensor_begin(NULL) != SENSOR_ROW) {
        return 1;
    }
    due = 2; /* come while the program waits */
    read_one();
    read_one();
    read_one(); /* nothing comes */
    due = QUEUE_ROWS + 3u; /* the last three find no room */
    read_one();
    due = 1; /* has room, and has three lost rows before it */
    interrupt();
    for (unsigned i = 0; i < QUEUE_ROWS; i++) {
        read_one();
    }
    read_one();
    return 0;
}
#endif
