/* From a layer to the device. What goes wrong there ends in a trap, not in wrong results. */
#include "gemm_npu.h"

#include "gemm_npu_device.h"

#include <stddef.h>

struct gemm_npu_stop gemm_npu_stopped; /* why, for a debugger */

static struct gemm_npu_job job_of(
    const int8_t *x, const int8_t *x2, int8_t *y, const int32_t *program, const int8_t *constants, int32_t count)
{
    struct gemm_npu_job job = { 0 };
    job.program = (const uint32_t *)program;
    job.instructions = count;
    job.bases[GEMM_NPU_CONSTANTS] = constants;
    job.bases[GEMM_NPU_X] = x;
    job.bases[GEMM_NPU_X2] = x2;
    job.bases[GEMM_NPU_Y] = y;
    job.result = y;
    return job;
}

static void end(const struct gemm_npu_job *job)
{
    gemm_npu_stopped = gemm_npu_end(job);
    if (gemm_npu_stopped.status != GEMM_NPU_OK) {
#if defined(__GNUC__)
        __builtin_trap();
#else
        for (;;) {
        }
#endif
    }
}

void gemm_npu_start(
    const int8_t *x,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_start_shape *shape)
{
    const struct gemm_npu_job job = job_of(x, NULL, y, program, constants, shape->instructions);
    gemm_npu_begin(&job);
}

void gemm_npu_finish(
    const int8_t *x,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_finish_shape *shape)
{
    const struct gemm_npu_job job = job_of(x, NULL, y, program, constants, shape->instructions);
    end(&job);
}

void gemm_npu_start_2(
    const int8_t *x,
    const int8_t *x2,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_start_2_shape *shape)
{
    const struct gemm_npu_job job = job_of(x, x2, y, program, constants, shape->instructions);
    gemm_npu_begin(&job);
}

void gemm_npu_finish_2(
    const int8_t *x,
    const int8_t *x2,
    int8_t *y,
    const int32_t *program,
    const int8_t *constants,
    const struct gemm_npu_finish_2_shape *shape)
{
    const struct gemm_npu_job job = job_of(x, x2, y, program, constants, shape->instructions);
    end(&job);
}
