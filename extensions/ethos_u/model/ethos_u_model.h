/* A functional model of the Ethos-U55 NPU: it executes a command stream as Vela writes it.
 *
 * It computes what the device computes and knows nothing of time: an operation ends before the next one begins.
 * It runs wherever C99 runs, allocates nothing, and never reads or writes outside the regions that it is given:
 * whatever a stream says, the answer is a result or a fault with the position of the command.
 */
#ifndef ETHOS_U_MODEL_H
#define ETHOS_U_MODEL_H

#include <stdint.h>

enum { ETHOS_U_REGIONS = 8 };

/* Memory that addresses of a stream are relative to; what a driver writes to the registers BASEP0 to BASEP7. */
struct ethos_u_region {
    const uint8_t *bytes;
    uint8_t *writable; /* the same bytes, or a null pointer where the device must not write */
    uint32_t size;
};

struct ethos_u_job {
    const uint8_t *payload; /* what Vela hands to a driver: "COP1", the configuration, the commands */
    uint32_t payload_bytes;
    struct ethos_u_region regions[ETHOS_U_REGIONS];
    int16_t *weights; /* room for decoded weights: at least those of one channel of a result */
    uint32_t weights_count;
    uint64_t most_steps; /* of elements that are computed or weights that are read; zero: any number */
};

enum ethos_u_status {
    ETHOS_U_OK,
    ETHOS_U_BAD_PAYLOAD,
    ETHOS_U_OTHER_CONFIGURATION,
    ETHOS_U_UNKNOWN_COMMAND,
    ETHOS_U_NO_STOP,
    ETHOS_U_OUT_OF_REGION,
    ETHOS_U_READ_ONLY,
    ETHOS_U_BAD_REGISTER,
    ETHOS_U_NOT_MODELLED,
    ETHOS_U_BAD_WEIGHTS,
    ETHOS_U_NO_ROOM_FOR_WEIGHTS,
    ETHOS_U_TOO_MANY_STEPS
};

struct ethos_u_fault {
    enum ethos_u_status status;
    uint32_t position; /* of the command, in bytes from the payload's begin */
    uint16_t code; /* of the command */
};

/* Executes a job up to its NPU_OP_STOP. The fault may be a null pointer. */
enum ethos_u_status ethos_u_run(const struct ethos_u_job *job, struct ethos_u_fault *fault);

/* Says a status in words, for messages. */
const char *ethos_u_status_text(enum ethos_u_status status);

#endif
