/* The way from a region to the device. */
#include "ethos_u_invoke.h"

void ethos_u_copy(void *target, const void *source, int32_t size)
{
    int8_t *const to = target;
    const int8_t *const from = source;
    for (int32_t i = 0; i < size; ++i) {
        to[i] = from[i];
    }
}

static void stop(void)
{
#if defined(__GNUC__)
    __builtin_trap();
#else
    for (;;) {
    }
#endif
}

#if defined(ETHOS_U_CORE_DRIVER)

/* ethos-u-core-driver, which has been started by ethosu_init() and is called by the NPU's interrupt. */
#include "ethosu_driver.h"

#include <stddef.h>

void ethos_u_invoke(const struct ethos_u_memory *memory)
{
    uint64_t bases[] = { (uint64_t)(uintptr_t)memory->constants, (uint64_t)(uintptr_t)memory->scratch };
    const size_t sizes[] = { (size_t)memory->constants_bytes, (size_t)memory->scratch_bytes };
    struct ethosu_driver *const driver = ethosu_reserve_driver();
    if (ethosu_invoke_v3(driver, memory->commands, memory->commands_bytes, bases, sizes, 2, 0) != 0) {
        stop();
    }
    ethosu_release_driver(driver);
}

#else

#include "ethos_u_model.h"

enum { ROOM = 16384 }; /* of decoded weights: more room makes the model faster, not better */

void ethos_u_invoke(const struct ethos_u_memory *memory)
{
    static int16_t room[ROOM];
    struct ethos_u_job job = { 0 };
    job.payload = (const uint8_t *)memory->commands;
    job.payload_bytes = (uint32_t)memory->commands_bytes;
    job.regions[0].bytes = (const uint8_t *)memory->constants;
    job.regions[0].size = (uint32_t)memory->constants_bytes;
    job.regions[1].bytes = (const uint8_t *)memory->scratch;
    job.regions[1].writable = (uint8_t *)memory->scratch;
    job.regions[1].size = (uint32_t)memory->scratch_bytes;
    job.weights = room;
    job.weights_count = ROOM;
    if (ethos_u_run(&job, 0) != ETHOS_U_OK) {
        stop();
    }
}

#endif
