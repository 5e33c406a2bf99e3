/* What the device would do with floats, in plain C: replace it by your own driver. */
#include "strawberry.h"

#include <math.h>

static float stored(float sum, const float *limits)
{
    return sum < limits[0] ? limits[0] : sum > limits[1] ? limits[1] : sum;
}

/* Adds all products under one window to the sums of a few channels; says where the next weights are. */
static const float *add_window(
    float *sums, const float *x, const float *w, int32_t row, int32_t column, const struct strawberry_f32_shape *s)
{
    for (int32_t r = row; r < row + s->w_rows; ++r) {
        for (int32_t c = column; c < column + s->w_columns; ++c) {
            const int is_inside = r >= 0 && r < s->x_rows && c >= 0 && c < s->x_columns;
            const float *const pixel = is_inside ? x + (r * s->x_columns + c) * s->depth : 0;
            for (int32_t k = 0; k < s->depth; ++k) {
                const float value = pixel ? pixel[k] : 0.0f;
                for (int32_t lane = 0; lane < s->lanes; ++lane) {
                    sums[lane] += value * *w++;
                }
            }
        }
    }
    return w;
}

/* Computes a row of the convolution's result. */
static void convolve_row(
    float *line,
    int32_t row,
    const float *x,
    const float *w,
    const float *bias,
    const float *limits,
    const struct strawberry_f32_shape *s)
{
    for (int32_t column = 0; column < s->c_columns; ++column) {
        const float *block = w;
        for (int32_t o = 0; o < s->channels; o += s->lanes) {
            const int32_t left = s->channels - o, used = left < s->lanes ? left : s->lanes;
            float sums[STRAWBERRY_MOST_LANES] = {0};
            for (int32_t lane = 0; lane < used; ++lane) {
                sums[lane] = bias[o + lane];
            }
            block = add_window(
                sums, x, block, row * s->stride_rows - s->top, column * s->stride_columns - s->left, s);
            for (int32_t lane = 0; lane < used; ++lane) {
                *line++ = stored(sums[lane], limits);
            }
        }
    }
}

/* The largest value of a channel in the window that begins there; rows of the window lie in `lines`. */
static float largest(
    const float *lines, int32_t row, int32_t column, int32_t channel, const struct strawberry_f32_shape *s)
{
    float most = -INFINITY;
    for (int32_t r = 0; r < s->p_rows; ++r) {
        for (int32_t c = column; c < column + s->p_columns; ++c) {
            if (row + r >= 0 && row + r < s->c_rows && c >= 0 && c < s->c_columns) {
                const float value = lines[(r * s->c_columns + c) * s->channels + channel];
                most = value > most ? value : most;
            }
        }
    }
    return most;
}

void strawberry_f32(
    const float *x,
    float *y,
    const float *w,
    const float *bias,
    const float *limits,
    float *lines,
    const struct strawberry_f32_shape *s)
{
    for (int32_t y_row = 0; y_row < s->y_rows; ++y_row) {
        const int32_t first = y_row * s->p_stride_rows - s->p_top;
        for (int32_t r = 0; r < s->p_rows; ++r) {
            if (first + r >= 0 && first + r < s->c_rows) {
                float *const line = lines + r * s->c_columns * s->channels;
                convolve_row(line, first + r, x, w, bias, limits, s);
            }
        }
        for (int32_t y_column = 0; y_column < s->y_columns; ++y_column) {
            for (int32_t channel = 0; channel < s->channels; ++channel) {
                *y++ = largest(lines, first, y_column * s->p_stride_columns - s->p_left, channel, s);
            }
        }
    }
}
