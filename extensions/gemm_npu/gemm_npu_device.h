/* What a program works on, and who carries it out: the model in C or the device behind its registers. The core may do
   other things between begin and end; the job is the same for both. */
#ifndef GEMM_NPU_DEVICE_H
#define GEMM_NPU_DEVICE_H

#include <stdint.h>

enum { GEMM_NPU_CONSTANTS, GEMM_NPU_X, GEMM_NPU_X2, GEMM_NPU_Y, GEMM_NPU_BASES };

struct gemm_npu_job {
    const uint32_t *program;
    int32_t instructions;
    const int8_t *bases[GEMM_NPU_BASES]; /* to load from */
    int8_t *result;                      /* to store to */
};

enum gemm_npu_status { GEMM_NPU_OK, GEMM_NPU_DEADLOCK, GEMM_NPU_FAULT, GEMM_NPU_LATE };

/* Where a program stopped: for a debugger, after the trap. */
struct gemm_npu_stop {
    enum gemm_npu_status status;
    int32_t queue;       /* 0 LOAD, 1 EXECUTE, 2 STORE */
    int32_t instruction; /* -1: not known */
};

void gemm_npu_begin(const struct gemm_npu_job *job);

/* Returns when the job is done, or cannot be. */
struct gemm_npu_stop gemm_npu_end(const struct gemm_npu_job *job);

#endif
