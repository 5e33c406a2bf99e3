/* A fully connected layer of 16 bits by CMSIS-NN. */
#ifndef CMSIS_NN_DENSE_WIDE_H
#define CMSIS_NN_DENSE_WIDE_H

#include <stdint.h>

struct cmsis_nn_dense_wide_shape {
    int32_t rows, depth, channels;
    int32_t mult, shift, y_least, y_most;
};

void cmsis_nn_dense_wide(
    const int16_t *x,
    int16_t *y,
    const int8_t *w,
    const int64_t *bias,
    const struct cmsis_nn_dense_wide_shape *shape);

#endif
