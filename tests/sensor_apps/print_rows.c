/* Prints the rows that a computer's sensor reads from files, in hexadecimal, and what is wrong. */
#include <stdio.h>

#include "sensor.h"

int main(int argc, char **argv)
{
    static app_element row[ROW_ELEMENTS];
    const uint8_t *const bytes = (const uint8_t *)row;
    uint32_t lost = 0;
    enum sensor_status status;

    (void)sensor_begin(argv + (argc > 0));
    while ((status = sensor_read(row, &lost)) == SENSOR_ROW) {
        for (size_t i = 0; i < sizeof row; i++) {
            printf("%02x", bytes[i]);
        }
        printf("\n");
    }
    if (status == SENSOR_FAILED) {
        printf("%s\n", sensor_fault());
    }
    return 0;
}
