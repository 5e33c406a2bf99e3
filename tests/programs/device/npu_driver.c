/* A driver that runs jobs on the model: 0 when a region's commands went the way of Arm's driver and gave its sums. */
#include "ethos_u_invoke.h"
#include "ethos_u_model.h"
#include "ethosu_driver.h"

#include <string.h>

struct ethosu_driver {
    int is_reserved, jobs;
};

static struct ethosu_driver ONLY;

struct ethosu_driver *ethosu_reserve_driver(void)
{
    ONLY.is_reserved = 1;
    return &ONLY;
}

void ethosu_release_driver(struct ethosu_driver *driver)
{
    driver->is_reserved = 0;
}

int ethosu_invoke_v3(
    struct ethosu_driver *driver,
    const void *custom_data,
    const int custom_data_size,
    uint64_t *const base_addr,
    const size_t *base_addr_size,
    const int num_base_addr,
    void *user_arg)
{
    static int16_t room[256];
    struct ethos_u_job job = { 0 };
    if (!driver->is_reserved || num_base_addr != 2 || user_arg) {
        return -1;
    }
    driver->jobs += 1;
    job.payload = custom_data;
    job.payload_bytes = (uint32_t)custom_data_size;
    job.weights = room;
    job.weights_count = 256;
    for (int i = 0; i < num_base_addr; ++i) {
        job.regions[i].bytes = (const uint8_t *)(uintptr_t)base_addr[i];
        job.regions[i].writable = i == 1 ? (uint8_t *)(uintptr_t)base_addr[i] : 0;
        job.regions[i].size = (uint32_t)base_addr_size[i];
    }
    return ethos_u_run(&job, 0) == ETHOS_U_OK ? 0 : -1;
}

/* Copies sixteen bytes of constants to scratch. */
static const uint32_t COMMANDS[] = {
    0x31504F43, 1,          0x1807, 0x10600000, 5,          5,      5,          0x000B0002, 0x00000130, 0x00004030,
    0,          0x00010131, 0x4031, 16,         0x00004032, 16,     0x00000010, 0x00000011, 0xFFFF0000
};

int main(void)
{
    static const int8_t constants[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
    int8_t scratch[32] = { 0 };
    struct ethos_u_memory memory;
    memory.commands = (const int8_t *)COMMANDS;
    memory.commands_bytes = (int32_t)sizeof COMMANDS;
    memory.constants = constants;
    memory.constants_bytes = 16;
    memory.scratch = scratch;
    memory.scratch_bytes = 32;
    ethos_u_invoke(&memory);
    return memcmp(scratch + 16, constants, 16) != 0 || ONLY.is_reserved || ONLY.jobs != 1;
}
