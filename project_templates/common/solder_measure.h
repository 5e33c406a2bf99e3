/* Measures runs of a model: counter ticks and stack depth. */
#ifndef SOLDER_MEASURE_H
#define SOLDER_MEASURE_H

#include <stdint.h>

#include "solder_firmware.h"

#ifdef __cplusplus
extern "C" {
#endif

struct solder_timing {
    int32_t code;   /* of the first run that failed, else 0 */
    uint64_t ticks; /* of all runs together */
};

/* Calls `call` with `argument` `number` times, or until it fails. The whole may take `deadline_ms`; 0: no
   limit, but if the slow clock needs a deadline, only the first period of the counter is measured. */
struct solder_timing solder_time_calls(int32_t (*call)(void *), void *argument, uint32_t number,
                                       uint32_t deadline_ms);

/* Runs the model that often within the deadline, and measures its stack: using all of it is an overflow. */
struct solder_timing solder_time_runs(const struct solder_model *model, uint32_t number, uint32_t deadline_ms);

/* The same around a function that does nothing, the shortest of a few: what measuring itself costs. */
struct solder_timing solder_time_nothing(uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
