/* Names the layer's numbers as the library does. */
#include "cmsis_nn_dense.h"
#include "arm_nnfunctions.h"

void cmsis_nn_dense(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int32_t *shift,
    const struct cmsis_nn_dense_shape *s)
{
    const cmsis_nn_context sums = {(int32_t *)bias, s->channels * (int32_t)sizeof *bias};
    const cmsis_nn_fc_params params = {-s->x_zero, 0, s->y_zero, {s->y_least, s->y_most}};
    const cmsis_nn_quant_params scales = {(int32_t *)mult, (int32_t *)shift, s->has_scales};
    const cmsis_nn_dims x_sizes = {s->rows, 1, 1, s->depth};
    const cmsis_nn_dims w_sizes = {s->depth, 1, 1, s->channels};
    const cmsis_nn_dims bias_sizes = {1, 1, 1, s->channels};
    const cmsis_nn_dims y_sizes = {s->rows, 1, 1, s->channels};
    if (arm_fully_connected_wrapper_s8(
            &sums, &params, &scales, &x_sizes, x, &w_sizes, w, &bias_sizes, bias, &y_sizes, y) !=
        ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap(); /* no wrong results */
    }
}
