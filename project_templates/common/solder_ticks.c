/* The counter beyond its width, with the help of a slow clock. */
#include "solder_ticks.h"

#include "solder_fault.h"
#include "solder_port.h"

#define STILL_READS (1u << 20) /* without a tick: no counter is as slow as that */

/* Not on the stack, which is measured with the runs, nor among the variables that are watched meanwhile. */
static SOLDER_NOINIT uint32_t began_ms;

void solder_ticks_begin(void)
{
    began_ms = solder_port_milliseconds();
}

uint32_t solder_ticks_since(uint32_t since)
{
    return (solder_port_ticks() - since) & (0xFFFFFFFFu >> (32u - solder_port_counter().bits));
}

void solder_wait(uint32_t ticks)
{
    uint32_t before = solder_port_ticks();
    for (uint32_t still = 0; still < STILL_READS; still++) {
        const uint32_t since = solder_ticks_since(before);
        if (since >= ticks) {
            return;
        }
        if (since != 0) {
            still = 0;
        }
        ticks -= since;
        before += since;
    }
}

/* The slow clock is less than half a period off: what is nearest to it and equal to `ticks` but for whole periods. */
uint64_t solder_whole_ticks(uint64_t ticks)
{
    const uint32_t milliseconds = solder_port_milliseconds() - began_ms;
    const struct solder_counter counter = solder_port_counter();
    const uint64_t about = (uint64_t)milliseconds * (counter.hz / 1000u);
    const uint32_t above = ((uint32_t)ticks - (uint32_t)about) << (32u - counter.bits);
    return milliseconds == 0 ? ticks : about + (uint64_t)((int32_t)above >> (32u - counter.bits));
}
