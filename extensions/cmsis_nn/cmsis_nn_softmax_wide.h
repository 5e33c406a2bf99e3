/* A softmax of 16 bits by CMSIS-NN. */
#ifndef CMSIS_NN_SOFTMAX_WIDE_H
#define CMSIS_NN_SOFTMAX_WIDE_H

#include <stdint.h>

struct cmsis_nn_softmax_wide_shape {
    int32_t rows, length;
    int32_t mult, shift;
};

/* `exponentials` and `reciprocals` have 513 points each. */
void cmsis_nn_softmax_wide(
    const int16_t *x,
    int16_t *y,
    const int16_t *exponentials,
    const int16_t *reciprocals,
    const struct cmsis_nn_softmax_wide_shape *shape);

#endif
