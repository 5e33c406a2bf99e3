/* A convolution and the largest of each window of its result, as a device with a few multipliers side by side
   computes them: of the image between, it holds the rows under one row of windows. */
#ifndef STRAWBERRY_H
#define STRAWBERRY_H

#include <stdint.h>

#define STRAWBERRY_MOST_LANES 8

#define STRAWBERRY_GEOMETRY \
    int32_t x_rows, x_columns, depth;     /* pixels [rows][columns][depth] */ \
    int32_t c_rows, c_columns, channels;  /* of the convolution's result */ \
    int32_t w_rows, w_columns;            /* weights [channels / lanes][rows][columns][depth][lanes] */ \
    int32_t stride_rows, stride_columns, top, left; \
    int32_t p_rows, p_columns;            /* the window of the pool: one pixel where there is none */ \
    int32_t p_stride_rows, p_stride_columns, p_top, p_left; \
    int32_t y_rows, y_columns; \
    int32_t lanes                         /* channels that are computed together */

struct strawberry_i8_shape {
    STRAWBERRY_GEOMETRY;
    int32_t x_zero; /* what padding holds */
    int32_t y_zero, y_least, y_most;
};

struct strawberry_f32_shape {
    STRAWBERRY_GEOMETRY;
};

/* `lines` holds p_rows rows of the convolution's result. Sums are multiplied by mult / 2^31 and divided by
   2^right, rounded each time: half up, then half away from zero. */
void strawberry_i8(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int8_t *right,
    int8_t *lines,
    const struct strawberry_i8_shape *shape);

/* `limits` are the smallest and the largest result of the convolution. */
void strawberry_f32(
    const float *x,
    float *y,
    const float *w,
    const float *bias,
    const float *limits,
    float *lines,
    const struct strawberry_f32_shape *shape);

#endif
