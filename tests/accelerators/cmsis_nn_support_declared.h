/* What solder calls of CMSIS-NN's functions for its own functions, declared, with names of their own for parameters. */
#ifndef ARM_NNSUPPORTFUNCTIONS_H
#define ARM_NNSUPPORTFUNCTIONS_H

#include "arm_nnfunctions.h"

arm_cmsis_nn_status arm_nn_vec_mat_mul_result_acc_s8_s16(
    const int8_t *x,
    const int8_t *w,
    const int32_t *bias,
    int16_t *y,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t columns,
    const int32_t rows,
    const int32_t vectors,
    const int32_t vectors_apart);

arm_cmsis_nn_status arm_nn_vec_mat_mul_result_acc_s16(
    const int16_t *x,
    const int8_t *w,
    const int64_t *bias,
    int16_t *y,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t columns,
    const int32_t rows,
    const int32_t vectors,
    const int32_t vectors_apart);

arm_cmsis_nn_status arm_elementwise_mul_acc_s16(
    const int16_t *a,
    const int16_t *b,
    const int32_t a_offset,
    const int32_t b_offset,
    int16_t *y,
    const int32_t y_offset,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t least,
    const int32_t most,
    const int32_t elements);

arm_cmsis_nn_status arm_elementwise_mul_s16_s8(
    const int16_t *a,
    const int16_t *b,
    int8_t *y,
    const int32_t y_offset,
    const int32_t y_mult,
    const int32_t y_shift,
    const int32_t length,
    const int32_t rows,
    const int32_t rows_apart);

#endif
