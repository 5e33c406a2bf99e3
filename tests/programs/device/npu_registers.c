/* The driver for the NPU's registers beside a device that another thread plays: npu_registers CONFIG STATUS.
 *
 * The device has CONFIG and answers a start with STATUS; with STATUS 0 it never answers, with a STATUS that says that
 * the commands were executed the model has executed them. Prints how the driver says that it ended. */
#define _GNU_SOURCE
#include "ethos_u_invoke.h"
#include "ethos_u_model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STATUS = 1, CMD = 2, QBASE = 4, QREAD = 6, QSIZE = 8, CONFIG = 10, REGIONCFG = 15, BASEP = 32 };
enum { RUN = 1, END_REACHED = 1 << 5, COMMANDS_BYTES = 11 * 4 };

static volatile uint32_t *npu;
static uint32_t answer;

/* Copies sixteen bytes of constants to scratch. */
static const uint32_t COMMANDS[] = {
    0x31504F43, 1,          0x1807, 0x10600000, 5,          5,      5,          0x000B0002, 0x00000130, 0x00004030,
    0,          0x00010131, 0x4031, 16,         0x00004032, 16,     0x00000010, 0x00000011, 0xFFFF0000
};

static uint8_t *address(int place)
{
    return (uint8_t *)(uintptr_t)((uint64_t)npu[place + 1] << 32 | npu[place]);
}

static int executed(void)
{
    static int16_t room[256];
    struct ethos_u_job job = { 0 };
    if (address(QBASE) != (const uint8_t *)(COMMANDS + 8) || npu[QSIZE] != COMMANDS_BYTES || npu[REGIONCFG] != 3u) {
        return 0;
    }
    job.payload = (const uint8_t *)COMMANDS;
    job.payload_bytes = sizeof COMMANDS;
    job.weights = room;
    job.weights_count = 256;
    job.regions[0].bytes = address(BASEP);
    job.regions[0].size = 16;
    job.regions[1].bytes = job.regions[1].writable = address(BASEP + 2);
    job.regions[1].size = 32;
    return ethos_u_run(&job, 0) == ETHOS_U_OK;
}

static void *device(void *nothing)
{
    while ((npu[CMD] & RUN) == 0u) {
    }
    npu[QREAD] = COMMANDS_BYTES;
    npu[STATUS] = (answer & END_REACHED) == 0u || executed() ? answer : 1u << 2;
    return nothing;
}

int main(int count, char **words)
{
    static const int8_t constants[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
    int8_t scratch[32] = { 0 };
    struct ethos_u_memory memory = { 0 };
    pthread_t thread;
    npu = mmap((void *)0x4F000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (count != 4 || npu == MAP_FAILED) {
        return 1;
    }
    npu[CONFIG] = (uint32_t)strtoul(words[1], 0, 0);
    npu[STATUS] = (uint32_t)strtoul(words[2], 0, 0);
    answer = (uint32_t)strtoul(words[3], 0, 0);
    if (answer != 0u && pthread_create(&thread, 0, device, 0) != 0) {
        return 1;
    }
    memory.commands = (const int8_t *)COMMANDS;
    memory.commands_bytes = (int32_t)sizeof COMMANDS;
    memory.constants = constants;
    memory.constants_bytes = 16;
    memory.scratch = scratch;
    memory.scratch_bytes = 32;
    const struct ethos_u_stop stop = ethos_u_execute(&memory);
    printf("%d %u %d %#x\n", (int)stop.end, (unsigned)stop.position, memcmp(scratch + 16, constants, 16) == 0,
        (unsigned)npu[CMD]);
    return 0;
}
