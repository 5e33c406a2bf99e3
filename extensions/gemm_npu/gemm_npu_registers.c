/* The device behind its registers: writes what it is to do, and waits until it is done. */
#include "gemm_npu_device.h"

#ifndef GEMM_NPU_ADDRESS
#define GEMM_NPU_ADDRESS 0x4F000000u
#endif
#ifndef GEMM_NPU_MOST_POLLS
#define GEMM_NPU_MOST_POLLS 100000000 /* a deadline for a device that never finishes */
#endif

enum { STATUS, PROGRAM, COUNT, START, CYCLES, BASES = 8 }; /* words */
enum { BUSY, DONE };

/* Emulators find the device's address here. */
extern const volatile uint32_t solder_device_gemm_npu;
const volatile uint32_t solder_device_gemm_npu = GEMM_NPU_ADDRESS;

void gemm_npu_begin(const struct gemm_npu_job *job)
{
    volatile uint32_t *const registers = (volatile uint32_t *)(uintptr_t)solder_device_gemm_npu;
    for (int32_t i = 0; i < GEMM_NPU_BASES; ++i) {
        registers[BASES + i] = (uint32_t)(uintptr_t)job->bases[i];
    }
    registers[PROGRAM] = (uint32_t)(uintptr_t)job->program;
    registers[COUNT] = (uint32_t)job->instructions;
    registers[START] = 1u;
}

struct gemm_npu_stop gemm_npu_end(const struct gemm_npu_job *job)
{
    volatile uint32_t *const registers = (volatile uint32_t *)(uintptr_t)solder_device_gemm_npu;
    struct gemm_npu_stop stop = { GEMM_NPU_LATE, -1, -1 };
    (void)job;
    for (int32_t polls = 0; polls < GEMM_NPU_MOST_POLLS; ++polls) {
        const uint32_t status = registers[STATUS];
        if (status != BUSY) {
            stop.status = status == DONE ? GEMM_NPU_OK : GEMM_NPU_FAULT;
            break;
        }
    }
    return stop;
}
