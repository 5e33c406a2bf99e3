/* A softmax of bytes by CMSIS-NN. */
#ifndef CMSIS_NN_SOFTMAX_H
#define CMSIS_NN_SOFTMAX_H

#include <stdint.h>

struct cmsis_nn_softmax_shape {
    int32_t rows, length;
    int32_t mult, left_shift, least_difference;
};

void cmsis_nn_softmax(const int8_t *x, int8_t *y, const struct cmsis_nn_softmax_shape *shape);

#endif
