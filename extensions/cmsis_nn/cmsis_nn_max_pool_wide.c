/* Names the layer's numbers as the library does. */
#include "cmsis_nn_max_pool_wide.h"
#include "arm_nnfunctions.h"

void cmsis_nn_max_pool_wide(const int16_t *x, int16_t *y, int32_t *scratch, const struct cmsis_nn_max_pool_wide_shape *s)
{
    const cmsis_nn_context memory = {scratch, s->scratch_bytes};
    const cmsis_nn_pool_params params = {
        {s->stride_columns, s->stride_rows}, {s->left, s->top}, {s->y_least, s->y_most}};
    const cmsis_nn_dims x_sizes = {1, s->x_rows, s->x_columns, s->depth};
    const cmsis_nn_dims window = {1, s->w_rows, s->w_columns, 1};
    const cmsis_nn_dims y_sizes = {1, s->y_rows, s->y_columns, s->depth};
    if (arm_max_pool_s16(&memory, &params, &x_sizes, x, &window, &y_sizes, y) != ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap(); /* no wrong results */
    }
}
