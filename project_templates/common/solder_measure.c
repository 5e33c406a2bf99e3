/* Timing with counter wrap, and stack use by painting the free stack and looking how far the paint has gone. */
#include "solder_measure.h"

#include <stddef.h>

#include "solder_deadline.h"
#include "solder_fault.h"
#include "solder_port.h"

#define PAINT 0x57AC57ACu
/* Below a function's own variables its compiler may have spilled others; leave them alone. */
#define SPARED_BYTES 64u
#define TIMES_NOTHING 3u

static struct {
    uint32_t used;
    uint32_t used_by_runs;
} stack;

uint32_t solder_ticks_since(uint32_t since)
{
    return (solder_port_ticks() - since) & (0xFFFFFFFFu >> (32u - solder_port_counter().bits));
}

/* The counter is read between runs too: the readings add up to the whole time, and a wrap in each run is seen. */
struct solder_timing solder_time_calls(int32_t (*call)(void *), void *argument, uint32_t number,
                                       uint32_t deadline_ms)
{
    struct solder_timing timing = {0, 0};
    const uint32_t mask = 0xFFFFFFFFu >> (32u - solder_port_counter().bits);
    (void)solder_port_deadline(deadline_ms);
    uint32_t before = solder_port_ticks();
    for (uint32_t i = 0; i < number && timing.code == 0; i++) {
        timing.code = call(argument);
        const uint32_t now = solder_port_ticks();
        timing.ticks += (now - before) & mask;
        before = now;
    }
    (void)solder_port_deadline(0);
    return timing;
}

/* The first word from the bottom of the stack that is not paint. */
static uint32_t *lowest_used(const struct solder_stack *whole)
{
    uint32_t *at = whole->low;
    const uint32_t *end = whole->low + whole->bytes / sizeof *at;
    while (at < end && *at == PAINT) {
        at++;
    }
    return at;
}

static uint32_t bytes_between(const volatile void *low, const volatile void *high)
{
    return (uint32_t)((uintptr_t)high - (uintptr_t)low);
}

static void note_use(const struct solder_stack *whole)
{
    if (whole->bytes == 0) {
        return;
    }
    const uint32_t used = bytes_between(lowest_used(whole), whole->low + whole->bytes / sizeof(uint32_t));
    stack.used = used > stack.used ? used : stack.used;
}

void solder_stack_paint(void)
{
    const struct solder_stack whole = solder_port_stack();
    volatile uint8_t here = 0;
    if (whole.bytes == 0) {
        return;
    }
    for (uint32_t *at = whole.low; bytes_between(at, &here) > SPARED_BYTES; at++) {
        *(volatile uint32_t *)at = PAINT;
    }
}

static int32_t do_nothing(void *memory)
{
    (void)memory;
    return 0;
}

/* The shortest of a few: what an interrupt adds to a single one would be taken off every run, and a run seem
   to take less than no time. */
struct solder_timing solder_time_nothing(uint32_t number)
{
    struct solder_timing shortest = {0, UINT64_MAX};
    for (uint32_t i = 0; i < TIMES_NOTHING; i++) {
        const struct solder_timing timing = solder_time_calls(do_nothing, solder_arenas, number, 0);
        shortest.ticks = timing.ticks < shortest.ticks ? timing.ticks : shortest.ticks;
    }
    return shortest;
}

/* Where nothing guards the memory: what lies below the stack is spoilt, so the device starts anew. */
static void stop_overflown(const uint32_t *low)
{
    const struct solder_fault full = {SOLDER_FAULT_STACK, 0, 0, 0, 0, 0, 0, (uint32_t)(uintptr_t)low};
    solder_fault_keep(&full);
    solder_port_reset();
}

struct solder_timing solder_time_runs(const struct solder_model *model, uint32_t number, uint32_t deadline_ms)
{
    const struct solder_stack whole = solder_port_stack();
    volatile uint8_t here = 0;
    note_use(&whole);
    solder_stack_paint();
    const struct solder_timing timing = solder_time_calls(model->run, solder_arenas, number, deadline_ms);
    if (whole.bytes > 0) {
        const uint32_t *const lowest = lowest_used(&whole);
        if (lowest == whole.low) {
            stop_overflown(lowest);
        }
        const uint32_t used = bytes_between(lowest, &here);
        stack.used_by_runs = used > stack.used_by_runs ? used : stack.used_by_runs;
    }
    return timing;
}

uint32_t solder_stack_used(void)
{
    const struct solder_stack whole = solder_port_stack();
    note_use(&whole);
    return stack.used;
}

uint32_t solder_stack_used_by_runs(void)
{
    return stack.used_by_runs;
}
