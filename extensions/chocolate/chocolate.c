/* Tiles of weights come in turns into two places; the core computes with the one while the other fills. */
#include "chocolate.h"

#include "chocolate_dma.h"

static int8_t stored(int32_t sum, int32_t mult, int32_t right, const struct chocolate_finish_shape *s)
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

static int32_t sum_of_window(
    const int8_t *x, const int8_t *w, int32_t row, int32_t column, const struct chocolate_finish_shape *s)
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

void chocolate_start(const int8_t *w, uint8_t *tiles, const struct chocolate_start_shape *s)
{
    chocolate_dma_begin(tiles, w, (uint32_t)s->bytes);
}

void chocolate_finish(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int8_t *right,
    uint8_t *tiles,
    const struct chocolate_finish_shape *s)
{
    const int32_t filter = s->w_rows * s->w_columns * s->depth, pixels = s->y_rows * s->y_columns;
    int32_t number = 0;
    for (int32_t first = 0; first < s->channels; first += s->tile_channels) {
        const int32_t next = first + s->tile_channels;
        const int32_t behind = s->channels - next < s->tile_channels ? s->channels - next : s->tile_channels;
        uint8_t *const tile = tiles + (number & 1) * s->tile_step;
        chocolate_dma_wait(tile);
        ++number;
        if (behind > 0) {
            uint8_t *const other = tiles + (number & 1) * s->tile_step;
            chocolate_dma_begin(other, w + next * filter, (uint32_t)(behind * filter));
        }
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            const int32_t row = pixel / s->y_columns * s->stride_rows - s->top;
            const int32_t column = pixel % s->y_columns * s->stride_columns - s->left;
            for (int32_t o = first; o < next && o < s->channels; ++o) {
                const int8_t *const weights = (const int8_t *)tile + (o - first) * filter;
                const int32_t sum = bias[o] + sum_of_window(x, weights, row, column, s);
                y[pixel * s->channels + o] = stored(sum, mult[o], right[o], s);
            }
        }
    }
}
