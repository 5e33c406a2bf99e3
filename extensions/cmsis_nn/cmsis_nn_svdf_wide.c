/* Brings the memory into the library's order and back. */
#include "cmsis_nn_svdf_wide.h"
#include "arm_nnfunctions.h"

void cmsis_nn_svdf_wide(
    const int8_t *x,
    const int16_t *memory,
    int16_t *y,
    int8_t *y1,
    const int8_t *w,
    const int16_t *filters,
    const int32_t *sums,
    const int32_t *bias,
    int32_t *scratch,
    const struct cmsis_nn_svdf_wide_shape *s)
{
    (void)sums; /* of bytes only */
    const int32_t features = s->rank * s->units, word = (int32_t)sizeof *scratch;
    int32_t *const made = scratch + features;
    int16_t *const kept = (int16_t *)(void *)(made + s->units);
    const cmsis_nn_context second = {scratch, features * word}, third = {made, s->units * word};
    const cmsis_nn_svdf_params params = {
        s->rank, s->x_zero, s->y_zero, {s->kept_least, s->kept_most}, {s->y_least, s->y_most}};
    const cmsis_nn_per_tensor_quant_params x_scale = {s->feature_mult, s->feature_shift};
    const cmsis_nn_per_tensor_quant_params y_scale = {s->y_mult, s->y_shift};
    const cmsis_nn_dims x_sizes = {1, s->depth, 1, 1}, w_sizes = {features, 1, 1, 1};
    const cmsis_nn_dims filter_sizes = {1, s->steps, 1, 1}, others = {1, 1, 1, 1};
    for (int32_t unit = 0; unit < s->units; ++unit) {
        for (int32_t row = 0; row < s->steps * s->rank; ++row) {
            const int32_t step = row / s->rank, rank = row % s->rank;
            kept[(unit * s->rank + rank) * s->steps + step] = memory[row * s->units + unit];
        }
    }
    if (arm_svdf_state_s16_s8(&second, &third, &params, &x_scale, &y_scale, &x_sizes, x, &others, kept, &w_sizes, w,
            &filter_sizes, filters, &others, bias, &others, y1) != ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap(); /* no wrong results */
    }
    for (int32_t unit = 0; unit < s->units; ++unit) {
        for (int32_t row = 0; row < s->steps * s->rank; ++row) {
            const int32_t step = row / s->rank, rank = row % s->rank;
            y[row * s->units + unit] = kept[(unit * s->rank + rank) * s->steps + step];
        }
    }
}
