/* Timing calls and runs, in ticks of a counter that may wrap meanwhile. */
#include "solder_measure.h"

#include <stddef.h>

#include "solder_deadline.h"
#include "solder_port.h"
#include "solder_stack.h"
#include "solder_ticks.h"

#define TIMES_NOTHING 3u

/* The counter is read between runs too: the readings add up to the whole time, but for whole periods.
   Not inlined, so that measuring nothing takes the same instructions. */
__attribute__((noinline)) struct solder_timing solder_time_calls(int32_t (*call)(void *), void *argument, uint32_t number,
                                       uint32_t deadline_ms)
{
    struct solder_timing timing = {0, 0};
    const uint32_t mask = 0xFFFFFFFFu >> (32u - solder_port_counter().bits);
    (void)solder_port_deadline(deadline_ms);
    solder_ticks_begin();
    uint32_t before = solder_port_ticks();
    for (uint32_t i = 0; i < number && timing.code == 0; i++) {
        timing.code = call(argument);
        const uint32_t now = solder_port_ticks();
        timing.ticks += (now - before) & mask;
        before = now;
    }
    timing.ticks = solder_whole_ticks(timing.ticks);
    (void)solder_port_deadline(0);
    return timing;
}

static int32_t do_nothing(void *memory)
{
    (void)memory;
    return 0;
}

/* The shortest of a few: an interrupt in a single one would be subtracted from every run, which could then
   have a negative time. */
struct solder_timing solder_time_nothing(uint32_t number)
{
    struct solder_timing shortest = {0, UINT64_MAX};
    for (uint32_t i = 0; i < TIMES_NOTHING; i++) {
        const struct solder_timing timing = solder_time_calls(do_nothing, solder_arenas, number, 0);
        shortest.ticks = timing.ticks < shortest.ticks ? timing.ticks : shortest.ticks;
    }
    return shortest;
}

struct solder_timing solder_time_runs(const struct solder_model *model, uint32_t number, uint32_t deadline_ms)
{
    volatile uint8_t here = 0;
    (void)solder_stack_used(); /* before it is painted over */
    solder_stack_paint();
    const struct solder_timing timing = solder_time_calls(model->run, solder_arenas, number, deadline_ms);
    solder_stack_after_runs(&here);
    return timing;
}
