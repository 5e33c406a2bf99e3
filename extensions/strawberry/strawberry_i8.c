/* What the device would do with bytes, in plain C: replace it by your own driver. */
#include "strawberry.h"

static int8_t stored(int32_t sum, int32_t mult, int32_t right, const struct strawberry_i8_shape *s)
{
    const int32_t left = right < 0 ? -right : 0;
    const int64_t product = (int64_t)sum * ((int64_t)1 << left) * mult;
    int32_t v = (int32_t)((product + ((int64_t)1 << 30)) >> 31);
    if (right > 0) {
        const int64_t half = ((int64_t)1 << right) >> 1;
        v = (int32_t)((v + half - (v < 0)) >> right);
    }
    v += s->y_zero;
    return (int8_t)(v < s->y_least ? s->y_least : v > s->y_most ? s->y_most : v);
}

/* Adds all products under one window to the sums of a few channels; says where the next weights are. */
static const int8_t *add_window(
    int32_t *sums, const int8_t *x, const int8_t *w, int32_t row, int32_t column, const struct strawberry_i8_shape *s)
{
    for (int32_t r = row; r < row + s->w_rows; ++r) {
        for (int32_t c = column; c < column + s->w_columns; ++c) {
            const int is_inside = r >= 0 && r < s->x_rows && c >= 0 && c < s->x_columns;
            const int8_t *const pixel = is_inside ? x + (r * s->x_columns + c) * s->depth : 0;
            for (int32_t k = 0; k < s->depth; ++k) {
                const int32_t value = pixel ? pixel[k] : s->x_zero;
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
    int8_t *line,
    int32_t row,
    const int8_t *x,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int8_t *right,
    const struct strawberry_i8_shape *s)
{
    for (int32_t column = 0; column < s->c_columns; ++column) {
        const int8_t *block = w;
        for (int32_t o = 0; o < s->channels; o += s->lanes) {
            const int32_t left = s->channels - o, used = left < s->lanes ? left : s->lanes;
            int32_t sums[STRAWBERRY_MOST_LANES] = {0};
            for (int32_t lane = 0; lane < used; ++lane) {
                sums[lane] = bias[o + lane];
            }
            block = add_window(
                sums, x, block, row * s->stride_rows - s->top, column * s->stride_columns - s->left, s);
            for (int32_t lane = 0; lane < used; ++lane) {
                *line++ = stored(sums[lane], mult[o + lane], right[o + lane], s);
            }
        }
    }
}

/* The largest value of a channel in the window that begins there; rows of the window lie in `lines`. */
static int8_t largest(
    const int8_t *lines, int32_t row, int32_t column, int32_t channel, const struct strawberry_i8_shape *s)
{
    int8_t most = INT8_MIN;
    for (int32_t r = 0; r < s->p_rows; ++r) {
        for (int32_t c = column; c < column + s->p_columns; ++c) {
            if (row + r >= 0 && row + r < s->c_rows && c >= 0 && c < s->c_columns) {
                const int8_t value = lines[(r * s->c_columns + c) * s->channels + channel];
                most = value > most ? value : most;
            }
        }
    }
    return most;
}

void strawberry_i8(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int8_t *right,
    int8_t *lines,
    const struct strawberry_i8_shape *s)
{
    for (int32_t y_row = 0; y_row < s->y_rows; ++y_row) {
        const int32_t first = y_row * s->p_stride_rows - s->p_top;
        for (int32_t r = 0; r < s->p_rows; ++r) {
            if (first + r >= 0 && first + r < s->c_rows) {
                int8_t *const line = lines + r * s->c_columns * s->channels;
                convolve_row(line, first + r, x, w, bias, mult, right, s);
            }
        }
        for (int32_t y_column = 0; y_column < s->y_columns; ++y_column) {
            for (int32_t channel = 0; channel < s->channels; ++channel) {
                *y++ = largest(lines, first, y_column * s->p_stride_columns - s->p_left, channel, s);
            }
        }
    }
}
