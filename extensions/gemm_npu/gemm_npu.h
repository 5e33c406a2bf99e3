/* Runs layers on the device: a call that starts it, and one that waits for it. */
#ifndef GEMM_NPU_H
#define GEMM_NPU_H

#include <stdint.h>

struct gemm_npu_start_shape {
    int32_t instructions;
};

struct gemm_npu_finish_shape {
    int32_t instructions;
};

struct gemm_npu_start_2_shape {
    int32_t instructions;
};

struct gemm_npu_finish_2_shape {
    int32_t instructions;
};

/* A layer with one input. The program and the constants are as deploy docs gemm-npu says. From the first call to the end of
   the second, the device reads x and writes y. */
void gemm_npu_start(
    const int8_t *x,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_start_shape *shape);

void gemm_npu_finish(
    const int8_t *x,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_finish_shape *shape);

/* A layer with two inputs. */
void gemm_npu_start_2(
    const int8_t *x,
    const int8_t *x2,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_start_2_shape *shape);

void gemm_npu_finish_2(
    const int8_t *x,
    const int8_t *x2,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_finish_2_shape *shape);

#endif
