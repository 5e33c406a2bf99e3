/* What the device would do, in plain C: replace it by your own driver. */
#include "vanilla_conv2d.h"

static int32_t requantised(int32_t sum, int32_t mult, int32_t right)
{
    const int32_t left = right < 0 ? -right : 0;
    const int64_t product = (int64_t)sum * ((int64_t)1 << left) * mult;
    const int32_t v = (int32_t)((product + ((int64_t)1 << 30)) >> 31);
    if (right <= 0) {
        return v;
    }
    const int64_t half = ((int64_t)1 << right) >> 1;
    return (int32_t)((v + half - (v < 0)) >> right);
}

static int32_t sum_of_window(
    const int8_t *x, const int8_t *w, int32_t row, int32_t column, const struct vanilla_conv2d_shape *s)
{
    int32_t sum = 0;
    for (int32_t r = 0; r < s->w_rows; ++r) {
        for (int32_t c = 0; c < s->w_columns; ++c) {
            const int32_t x_row = row + r * s->dilation_rows, x_column = column + c * s->dilation_columns;
            const int is_inside = x_row >= 0 && x_row < s->x_rows && x_column >= 0 && x_column < s->x_columns;
            const int8_t *const pixel = is_inside ? x + (x_row * s->x_columns + x_column) * s->depth : 0;
            for (int32_t k = 0; k < s->depth; ++k) {
                sum += (pixel ? pixel[k] : s->x_zero) * *w++;
            }
        }
    }
    return sum;
}

void vanilla_conv2d(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int8_t *right,
    const struct vanilla_conv2d_shape *s)
{
    const int32_t filter = s->w_rows * s->w_columns * s->depth;
    for (int32_t row = 0; row < s->y_rows; ++row) {
        for (int32_t column = 0; column < s->y_columns; ++column) {
            const int32_t x_row = row * s->stride_rows - s->top;
            const int32_t x_column = column * s->stride_columns - s->left;
            for (int32_t o = 0; o < s->channels; ++o) {
                const int32_t sum = bias[o] + sum_of_window(x, w + o * filter, x_row, x_column, s);
                const int32_t v = requantised(sum, mult[o], right[o]) + s->y_zero;
                *y++ = (int8_t)(v < s->y_least ? s->y_least : v > s->y_most ? s->y_most : v);
            }
        }
    }
}
