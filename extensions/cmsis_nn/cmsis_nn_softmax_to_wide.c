/* Names the layer's numbers as the library does. */
#include "cmsis_nn_softmax_to_wide.h"
#include "arm_nnfunctions.h"

void cmsis_nn_softmax_to_wide(const int8_t *x, int16_t *y, const struct cmsis_nn_softmax_to_wide_shape *s)
{
    arm_softmax_s8_s16(x, s->rows, s->length, s->mult, s->left_shift, s->least_difference, y);
}
