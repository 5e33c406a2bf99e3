/* Runs layers on the device: what starts them, and what waits. */
#ifndef GEMM_NPU_H
#define GEMM_NPU_H

#include <stdint.h>

struct gemm_npu_run_shape {
    int32_t instructions;
};

struct gemm_npu_run_2_shape {
    int32_t instructions;
};

/* A layer with one input. The program and the constants are as docs/gemm-npu.md says. */
void gemm_npu_run(
    const int8_t *x,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_run_shape *shape);

/* A layer with two inputs. */
void gemm_npu_run_2(
    const int8_t *x,
    const int8_t *x2,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_run_2_shape *shape);

#endif
