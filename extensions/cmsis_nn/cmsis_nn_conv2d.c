/* Names the layer's numbers as the library does. */
#include "cmsis_nn_conv2d.h"
#include "arm_nnfunctions.h"

void cmsis_nn_conv2d(
    const int8_t *x,
    int8_t *y,
    const int8_t *w,
    const int32_t *bias,
    const int32_t *mult,
    const int32_t *shift,
    int32_t *scratch,
    const struct cmsis_nn_conv2d_shape *s)
{
    const cmsis_nn_context memory = {scratch, s->scratch_bytes};
    const cmsis_nn_conv_params params = {
        -s->x_zero,
        s->y_zero,
        {s->stride_columns, s->stride_rows},
        {s->left, s->top},
        {s->dilation_columns, s->dilation_rows},
        {s->y_least, s->y_most}};
    const cmsis_nn_per_channel_quant_params scales = {(int32_t *)mult, (int32_t *)shift};
    const cmsis_nn_dims x_sizes = {1, s->x_rows, s->x_columns, s->depth};
    const cmsis_nn_dims w_sizes = {s->channels, s->w_rows, s->w_columns, s->depth};
    const cmsis_nn_dims bias_sizes = {1, 1, 1, s->channels};
    const cmsis_nn_dims y_sizes = {1, s->y_rows, s->y_columns, s->channels};
    if (arm_convolve_wrapper_s8(
            &memory, &params, &scales, &x_sizes, x, &w_sizes, w, &bias_sizes, bias, &y_sizes, y) !=
        ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap(); /* no wrong results */
    }
}
