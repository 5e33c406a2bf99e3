/* Goes through the steps with the functions that the library's own step is made of. */
#include "cmsis_nn_lstm_wide.h"
#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"

struct gate {
    int32_t number, mult, shift;
    arm_nn_activation_type curve;
};

static void check(arm_cmsis_nn_status status)
{
    if (status != ARM_CMSIS_NN_SUCCESS) {
        __builtin_trap(); /* no wrong results */
    }
}

static void open_gate(
    struct gate gate,
    const int16_t *x,
    const int16_t *hidden,
    const int8_t *w,
    const int64_t *bias,
    int16_t *result,
    const struct cmsis_nn_lstm_wide_shape *s)
{
    const int32_t units = s->units, all = s->sequences * units;
    for (int32_t n = 0; n < all; ++n) {
        result[n] = 0;
    }
    check(arm_nn_vec_mat_mul_result_acc_s16(
        hidden,
        w + gate.number * units * units,
        bias + gate.number * units,
        result,
        gate.mult,
        gate.shift,
        units,
        units,
        s->sequences,
        1));
    /* Only now, when it is cut to 16 bits as the reference cuts it, what the input adds. */
    for (int32_t n = 0; n < s->sequences; ++n) {
        for (int32_t u = 0; u < units; ++u) {
            int16_t *const sum = result + n * units + u;
            const int32_t both = *sum + x[(4 * n + gate.number) * units + u];
            *sum = (int16_t)(both > INT16_MAX ? INT16_MAX : both < INT16_MIN ? INT16_MIN : both);
        }
    }
    check(arm_nn_activation_s16(result, result, all, 0, gate.curve));
}

void cmsis_nn_lstm_wide(
    const int16_t *x,
    const int16_t *h,
    const int16_t *c,
    int16_t *y,
    const int8_t *w,
    const int64_t *bias,
    int32_t *scratch,
    const struct cmsis_nn_lstm_wide_shape *s)
{
    const struct gate taken = {0, s->taken_mult, s->taken_shift, ARM_SIGMOID};
    const struct gate shown = {1, s->shown_mult, s->shown_shift, ARM_SIGMOID};
    const struct gate kept = {2, s->kept_mult, s->kept_shift, ARM_SIGMOID};
    const struct gate fresh = {3, s->fresh_mult, s->fresh_shift, ARM_TANH};
    const int32_t units = s->units, all = s->sequences * units;
    int16_t *const cell = (int16_t *)(void *)scratch;
    int16_t *const first = cell + all, *const second = first + all;
    int16_t *const hidden = second + all;
    for (int32_t n = 0; n < all; ++n) {
        hidden[n] = h[n];
        cell[n] = c[n];
    }
    for (int32_t step = 0; step < s->steps; ++step, x += 4 * all) {
        open_gate(kept, x, hidden, w, bias, first, s);
        check(arm_elementwise_mul_s16(
            first, cell, 0, 0, cell, 0, s->forget_mult, s->forget_shift, INT16_MIN, INT16_MAX, all));
        open_gate(taken, x, hidden, w, bias, first, s);
        open_gate(fresh, x, hidden, w, bias, second, s);
        check(arm_elementwise_mul_acc_s16(
            first, second, 0, 0, cell, 0, s->update_mult, s->update_shift, s->cell_least, s->cell_most, all));
        open_gate(shown, x, hidden, w, bias, first, s);
        check(arm_nn_activation_s16(cell, second, all, s->tanh_shift, ARM_TANH));
        check(arm_elementwise_mul_s16(
            first, second, 0, 0, hidden, 0, s->hidden_mult, s->hidden_shift, INT16_MIN, INT16_MAX, all));
        for (int32_t n = 0; n < s->sequences; ++n) {
            for (int32_t u = 0; u < units; ++u) {
                *y++ = hidden[n * units + u];
            }
            for (int32_t u = 0; u < units; ++u) {
                *y++ = cell[n * units + u];
            }
        }
    }
}
