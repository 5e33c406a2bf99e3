/* Convolutions and fully connected layers whose weights come from slow flash by DMA, a tile of channels at a time: one
   tile arrives while the one before is used. */
#ifndef CHOCOLATE_H
#define CHOCOLATE_H

#include <stdint.h>

struct chocolate_start_shape {
    int32_t bytes; /* of the first tile */
};

struct chocolate_finish_shape {
    int32_t x_rows, x_columns, depth; /* pixels [rows][columns][depth] */
    int32_t y_rows, y_columns, channels;
    int32_t w_rows, w_columns; /* weights [channels][rows][columns][depth] */
    int32_t stride_rows, stride_columns, dilation_rows, dilation_columns;
    int32_t top, left; /* padding */
    int32_t x_zero;    /* what padding holds */
    int32_t y_zero, y_least, y_most;
    int32_t tile_channels; /* of a tile; the last one may have fewer */
    int32_t tile_step;     /* bytes from one of the two tiles to the other */
};

/* Begins the copy of the first tile of the weights: other layers may run until they are used. */
void chocolate_start(const int8_t *w, uint8_t *tiles, const struct chocolate_start_shape *shape);

/* Waits for each tile and computes its channels. Sums are multiplied by mult / 2^31 and divided by
   2^right, rounded each time: half up, then half away from zero. */
void chocolate_finish(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int8_t *right,
    uint8_t *tiles,
    const struct chocolate_finish_shape *shape);

#endif
