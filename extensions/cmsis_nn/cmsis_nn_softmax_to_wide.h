/* A softmax of bytes whose results have 16 bits, by CMSIS-NN. */
#ifndef CMSIS_NN_SOFTMAX_TO_WIDE_H
#define CMSIS_NN_SOFTMAX_TO_WIDE_H

#include <stdint.h>

struct cmsis_nn_softmax_to_wide_shape {
    int32_t rows, length;
    int32_t mult, left_shift, least_difference;
};

void cmsis_nn_softmax_to_wide(const int8_t *x, int16_t *y, const struct cmsis_nn_softmax_to_wide_shape *shape);

#endif
