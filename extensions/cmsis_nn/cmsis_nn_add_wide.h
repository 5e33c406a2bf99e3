/* The sum of two tensors of 16 bits by CMSIS-NN, whose zero points are 0. */
#ifndef CMSIS_NN_ADD_WIDE_H
#define CMSIS_NN_ADD_WIDE_H

#include <stdint.h>

struct cmsis_nn_add_wide_shape {
    int32_t elements, left_shift;
    int32_t a_mult, a_shift, b_mult, b_shift;
    int32_t y_mult, y_shift;
    int32_t y_least, y_most;
};

void cmsis_nn_add_wide(const int16_t *a, const int16_t *b, int16_t *y, const struct cmsis_nn_add_wide_shape *shape);

#endif
