/* One format of files with rows for the model. */
#ifndef FILE_ROWS_H
#define FILE_ROWS_H

#include <stdio.h>

#include "app.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the header before the first row. Returns NULL, or the reason why the file does not fit the model. */
const char *file_open(FILE *file);

/* Stores the next row and returns 1, or returns 0 at the end; then *why is set if the file is damaged. */
int file_row(FILE *file, app_element *row, const char **why);

#ifdef __cplusplus
}
#endif

#endif
