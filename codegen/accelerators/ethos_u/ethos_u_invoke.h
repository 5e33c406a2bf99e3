/* Runs the commands of a region on an Ethos-U: Arm's driver where ETHOS_U_CORE_DRIVER is defined, else the model. */
#ifndef ETHOS_U_INVOKE_H
#define ETHOS_U_INVOKE_H

#include <stdint.h>

struct ethos_u_memory {
    const int8_t *commands, *constants; /* as Vela made them */
    int8_t *scratch; /* inputs lie there before, results behind it */
    int32_t commands_bytes, constants_bytes, scratch_bytes;
};

/* Returns when the results are there. What fails ends in a trap: there are no results that could be believed. */
void ethos_u_invoke(const struct ethos_u_memory *memory);

/* Copies a tensor into the scratch or out of it. */
void ethos_u_copy(void *target, const void *source, int32_t size);

#endif
