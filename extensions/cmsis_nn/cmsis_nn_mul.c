/* Names the layer's numbers as the library does. */
#include "cmsis_nn_mul.h"
#include "arm_nnfunctions.h"

void cmsis_nn_mul(const int8_t *a, const int8_t *b, int8_t *y, const struct cmsis_nn_mul_shape *s)
{
    if (arm_elementwise_mul_s8(
            a, b, -s->a_zero, -s->b_zero, y, s->y_zero, s->y_mult, s->y_shift, s->y_least, s->y_most, s->elements) !=
        ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap(); /* no wrong results */
    }
}
