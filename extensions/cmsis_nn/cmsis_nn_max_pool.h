/* A max pool of bytes by CMSIS-NN. */
#ifndef CMSIS_NN_MAX_POOL_H
#define CMSIS_NN_MAX_POOL_H

#include <stdint.h>

struct cmsis_nn_max_pool_shape {
    int32_t x_rows, x_columns, depth;
    int32_t y_rows, y_columns;
    int32_t w_rows, w_columns;
    int32_t stride_rows, stride_columns;
    int32_t top, left;
    int32_t y_least, y_most;
    int32_t scratch_bytes;
};

void cmsis_nn_max_pool(const int8_t *x, int8_t *y, int32_t *scratch, const struct cmsis_nn_max_pool_shape *shape);

#endif
