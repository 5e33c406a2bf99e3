/* A convolution of 16 bits by CMSIS-NN. */
#ifndef CMSIS_NN_CONV2D_WIDE_H
#define CMSIS_NN_CONV2D_WIDE_H

#include <stdint.h>

struct cmsis_nn_conv2d_wide_shape {
    int32_t x_rows, x_columns, depth;
    int32_t y_rows, y_columns, channels;
    int32_t w_rows, w_columns;
    int32_t stride_rows, stride_columns;
    int32_t dilation_rows, dilation_columns;
    int32_t top, left;
    int32_t x_zero, y_zero, y_least, y_most;
    int32_t scratch_bytes;
};

void cmsis_nn_conv2d_wide(
    const int16_t *x,
    int16_t *y,
    const int8_t *w,
    const int64_t *bias,
    const int32_t *mult,
    const int32_t *shift,
    int32_t *scratch,
    const struct cmsis_nn_conv2d_wide_shape *shape);

#endif
