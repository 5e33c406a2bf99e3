/* The product of two tensors of 16 bits, element by element, by CMSIS-NN; zero points are 0. */
#ifndef CMSIS_NN_MUL_WIDE_H
#define CMSIS_NN_MUL_WIDE_H

#include <stdint.h>

struct cmsis_nn_mul_wide_shape {
    int32_t elements;
    int32_t y_mult, y_shift;
    int32_t y_least, y_most;
};

void cmsis_nn_mul_wide(const int16_t *a, const int16_t *b, int16_t *y, const struct cmsis_nn_mul_wide_shape *shape);

#endif
