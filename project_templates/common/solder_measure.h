/* Measures runs of a model: counter ticks, and the stack they touch. */
#ifndef SOLDER_MEASURE_H
#define SOLDER_MEASURE_H

#include <stdint.h>

#include "solder_firmware.h"

struct solder_timing {
    int32_t code;   /* of the first run that failed, else 0 */
    uint64_t ticks; /* of all runs together */
};

/* Calls `call` with `argument` `number` times, or until it fails. Each call may wrap the counter once.
   All of it may take `deadline_ms`; 0: as long as it likes. */
struct solder_timing solder_time_calls(int32_t (*call)(void *), void *argument, uint32_t number,
                                       uint32_t deadline_ms);

/* Runs the model so often within the deadline, and looks how much stack it takes: all of it is an overflow. */
struct solder_timing solder_time_runs(const struct solder_model *model, uint32_t number, uint32_t deadline_ms);

/* The same around a function that does nothing, the shortest of a few: what measuring itself costs. */
struct solder_timing solder_time_nothing(uint32_t number);

/* Ticks from `since` to now, if less than one period. */
uint32_t solder_ticks_since(uint32_t since);

/* Once, at start: marks the free stack. */
void solder_stack_paint(void);
/* Bytes of stack ever used, by all; and the most that runs used by themselves. 0: not known. */
uint32_t solder_stack_used(void);
uint32_t solder_stack_used_by_runs(void);

#endif
