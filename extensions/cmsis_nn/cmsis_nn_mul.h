/* The product of two tensors of bytes, element by element, by CMSIS-NN. */
#ifndef CMSIS_NN_MUL_H
#define CMSIS_NN_MUL_H

#include <stdint.h>

struct cmsis_nn_mul_shape {
    int32_t elements;
    int32_t y_mult, y_shift;
    int32_t y_least, y_most;
    int32_t a_zero, b_zero, y_zero;
};

void cmsis_nn_mul(const int8_t *a, const int8_t *b, int8_t *y, const struct cmsis_nn_mul_shape *shape);

#endif
