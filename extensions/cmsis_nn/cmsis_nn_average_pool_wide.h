/* An average pool of 16 bits by CMSIS-NN. */
#ifndef CMSIS_NN_AVERAGE_POOL_WIDE_H
#define CMSIS_NN_AVERAGE_POOL_WIDE_H

#include <stdint.h>

struct cmsis_nn_average_pool_wide_shape {
    int32_t x_rows, x_columns, depth;
    int32_t y_rows, y_columns;
    int32_t w_rows, w_columns;
    int32_t stride_rows, stride_columns;
    int32_t top, left;
    int32_t y_least, y_most;
    int32_t scratch_bytes;
};

void cmsis_nn_average_pool_wide(const int16_t *x, int16_t *y, int32_t *scratch, const struct cmsis_nn_average_pool_wide_shape *shape);

#endif
