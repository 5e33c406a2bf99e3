/* Runs the commands of a region on an Ethos-U: behind its registers, by Arm's driver, or on the model of it. */
#ifndef ETHOS_U_INVOKE_H
#define ETHOS_U_INVOKE_H

#include <stdint.h>

struct ethos_u_memory {
    const int8_t *commands, *constants; /* as Vela made them */
    int8_t *scratch; /* inputs lie there before, results behind it */
    int32_t commands_bytes, constants_bytes, scratch_bytes;
};

enum ethos_u_end {
    ETHOS_U_ENDED, /* the results are there */
    ETHOS_U_NO_COMMANDS,
    ETHOS_U_OTHER_NPU,
    ETHOS_U_NO_RESET,
    ETHOS_U_LATE,
    ETHOS_U_BUS_ERROR,
    ETHOS_U_COMMAND_ERROR,
    ETHOS_U_WATCHDOG_FAULT,
    ETHOS_U_ECC_FAULT,
    ETHOS_U_STOPPED_EARLY,
    ETHOS_U_REFUSED
};

struct ethos_u_stop {
    enum ethos_u_end end;
    uint32_t status;   /* the register STATUS, or what the model or Arm's driver answered */
    uint32_t position; /* bytes of the commands that were read */
};

/* Why the last region ended, for a debugger. */
extern struct ethos_u_stop ethos_u_stopped;

/* Executes a region's commands. One of ethos_u_by_registers.c, ethos_u_by_driver.c, ethos_u_by_model.c has it. */
struct ethos_u_stop ethos_u_execute(const struct ethos_u_memory *memory);

/* Returns when the results are there. What fails ends in a trap, in a function that is named after the cause: there
   are no results that could be believed. */
void ethos_u_invoke(const struct ethos_u_memory *memory);

/* Copies a tensor into the scratch or out of it. */
void ethos_u_copy(void *target, const void *source, int32_t size);

#endif
