/* The source of rows: sensor.c reads the board's sensor, or files on a computer. */
#ifndef SENSOR_H
#define SENSOR_H

#include <stdint.h>

#include "app.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sensor_status {
    SENSOR_ROW,     /* a row was stored */
    SENSOR_END,     /* a recording has ended: there are no more rows */
    SENSOR_STALLED, /* no row arrived for the duration of a window: nothing was stored */
    SENSOR_FAILED   /* there are no more rows; sensor_fault returns the reason */
};

/* Starts the sensor. `files` are names of recordings, ended by NULL; only programs on a computer use them. */
enum sensor_status sensor_begin(char *const *files);

/* Waits for the next row and stores it. *lost_rows becomes the number of rows that were lost just before it. */
enum sensor_status sensor_read(app_element *row, uint32_t *lost_rows);

/* Returns the reason after SENSOR_FAILED. */
const char *sensor_fault(void);

#ifdef __cplusplus
}
#endif

#endif
