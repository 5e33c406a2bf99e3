/* A depthwise convolution of bytes by CMSIS-NN. */
#ifndef CMSIS_NN_DEPTHWISE_H
#define CMSIS_NN_DEPTHWISE_H

#include <stdint.h>

struct cmsis_nn_depthwise_shape {
    int32_t x_rows, x_columns, depth;
    int32_t y_rows, y_columns, channels;
    int32_t w_rows, w_columns;
    int32_t stride_rows, stride_columns;
    int32_t dilation_rows, dilation_columns;
    int32_t top, left;
    int32_t x_zero, y_zero, y_least, y_most;
    int32_t scratch_bytes;
};

void cmsis_nn_depthwise(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int32_t *shift,
    int32_t *scratch,
    const struct cmsis_nn_depthwise_shape *shape);

#endif
