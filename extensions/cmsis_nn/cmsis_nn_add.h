/* The sum of two tensors of bytes by CMSIS-NN. */
#ifndef CMSIS_NN_ADD_H
#define CMSIS_NN_ADD_H

#include <stdint.h>

struct cmsis_nn_add_shape {
    int32_t elements, left_shift;
    int32_t a_mult, a_shift, b_mult, b_shift;
    int32_t y_mult, y_shift;
    int32_t y_least, y_most;
    int32_t a_zero, b_zero, y_zero;
};

void cmsis_nn_add(const int8_t *a, const int8_t *b, int8_t *y, const struct cmsis_nn_add_shape *shape);

#endif
