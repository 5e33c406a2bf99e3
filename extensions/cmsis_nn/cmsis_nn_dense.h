/* A fully connected layer of bytes by CMSIS-NN. */
#ifndef CMSIS_NN_DENSE_H
#define CMSIS_NN_DENSE_H

#include <stdint.h>

struct cmsis_nn_dense_shape {
    int32_t rows, depth, channels;
    int32_t x_zero, y_zero, y_least, y_most;
    int32_t has_scales; /* one for each channel, not one for all */
};

/* With Helium, `bias` has the input's zero point in it. */
void cmsis_nn_dense(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int32_t *shift,
    const struct cmsis_nn_dense_shape *shape);

#endif
