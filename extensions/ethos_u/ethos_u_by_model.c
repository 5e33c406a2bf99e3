/* The model of the NPU executes a region's commands. */
#include "ethos_u_invoke.h"
#include "ethos_u_model.h"

enum { ROOM = 16384 }; /* of decoded weights: more room makes the model faster, not better */

struct ethos_u_stop ethos_u_execute(const struct ethos_u_memory *memory)
{
    static int16_t room[ROOM];
    struct ethos_u_job job = { 0 };
    struct ethos_u_fault fault;
    job.payload = (const uint8_t *)memory->commands;
    job.payload_bytes = (uint32_t)memory->commands_bytes;
    job.regions[0].bytes = (const uint8_t *)memory->constants;
    job.regions[0].size = (uint32_t)memory->constants_bytes;
    job.regions[1].bytes = (const uint8_t *)memory->scratch;
    job.regions[1].writable = (uint8_t *)memory->scratch;
    job.regions[1].size = (uint32_t)memory->scratch_bytes;
    job.weights = room;
    job.weights_count = ROOM;
    const enum ethos_u_status status = ethos_u_run(&job, &fault);
    const struct ethos_u_stop stop = {
        status == ETHOS_U_OK ? ETHOS_U_ENDED : ETHOS_U_REFUSED, (uint32_t)status, fault.position
    };
    return stop;
}
