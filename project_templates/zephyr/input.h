/* The sensor, as the thread of sensor.c reads it. */
#ifndef INPUT_H
#define INPUT_H

#include <stdint.h>

#include "app.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the sensor. Returns 0 or a negative errno. */
int input_start(void);

/* Waits for the next row and stores it; *missed grows by the rows that were lost before it. Returns 0 or a negative
   errno, after which no row comes. */
int input_row(app_element *row, uint32_t *missed);

#ifdef __cplusplus
}
#endif

#endif
