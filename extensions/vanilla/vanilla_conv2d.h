/* Convolutions as an accelerator's driver would offer them: a whole image, one call. */
#ifndef VANILLA_CONV2D_H
#define VANILLA_CONV2D_H

#include <stdint.h>

struct vanilla_conv2d_shape {
    int32_t x_rows, x_columns, depth; /* pixels [rows][columns][depth] */
    int32_t y_rows, y_columns, channels;
    int32_t w_rows, w_columns; /* weights [channels][rows][columns][depth] */
    int32_t stride_rows, stride_columns, dilation_rows, dilation_columns;
    int32_t top, left; /* padding */
    int32_t x_zero;    /* what padding holds */
    int32_t y_zero, y_least, y_most;
};

/* Each channel's sums begin at its bias, are multiplied by mult / 2^31 and divided by 2^right, rounded each
   time: half up, then half away from zero. A negative right multiplies the sum before. */
void vanilla_conv2d(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int8_t *right,
    const struct vanilla_conv2d_shape *shape);

#endif
