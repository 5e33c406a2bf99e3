/* A recording of the sensor, in the memory of the program. */
#ifndef RECORDING_H
#define RECORDING_H

#include "app.h"

extern const uint32_t recording_rows;
extern const app_element recording[][ROW_ELEMENTS];

#endif
