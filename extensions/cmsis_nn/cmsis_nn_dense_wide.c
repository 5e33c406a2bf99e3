/* Names the layer's numbers as the library does. */
#include "cmsis_nn_dense_wide.h"
#include "arm_nnfunctions.h"

void cmsis_nn_dense_wide(
    const int16_t *x,
    int16_t *y,
    const int8_t *w,
    const int64_t *bias,
    const struct cmsis_nn_dense_wide_shape *s)
{
    const cmsis_nn_context none = {0, 0};
    const cmsis_nn_fc_params params = {0, 0, 0, {s->y_least, s->y_most}};
    const cmsis_nn_per_tensor_quant_params scale = {s->mult, s->shift};
    const cmsis_nn_dims x_sizes = {s->rows, 1, 1, s->depth};
    const cmsis_nn_dims w_sizes = {s->depth, 1, 1, s->channels};
    const cmsis_nn_dims bias_sizes = {1, 1, 1, s->channels};
    const cmsis_nn_dims y_sizes = {s->rows, 1, 1, s->channels};
    if (arm_fully_connected_s16(
            &none, &params, &scale, &x_sizes, x, &w_sizes, w, &bias_sizes, bias, &y_sizes, y) !=
        ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap(); /* no wrong results */
    }
}
