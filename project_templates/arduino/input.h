/* The sensor, as the sketch reads it for sensor.c. */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>

#include "app.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sketch's: starts the sensor. */
bool input_start(void);

/* The sketch's: called while no row is there. It may ask the sensor for one, or sleep until an interrupt. */
void input_wait(void);

/* Takes a row of ROW_ELEMENTS from the sketch or its interrupts. */
void sensor_row_came(const app_element *row);

#ifdef __cplusplus
}
#endif

#endif
