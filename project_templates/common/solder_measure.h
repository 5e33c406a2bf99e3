/* Measures runs of a model: counter ticks, beside the stack they touch. */
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

/* Calls `call` with `argument` `number` times, or until it fails. All of it may take `deadline_ms`; 0: as long
   as it likes, but where the slow clock needs a deadline, only the first period of the counter is told. */
struct solder_timing solder_time_calls(int32_t (*call)(void *), void *argument, uint32_t number,
                                       uint32_t deadline_ms);

/* Runs the model so often within the deadline, and looks how much stack it takes: all of it is an overflow. */
struct solder_timing solder_time_runs(const struct solder_model *model, uint32_t number, uint32_t deadline_ms);

/* The same around a function that does nothing, the shortest of a few: what measuring itself costs. */
struct solder_timing solder_time_nothing(uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
