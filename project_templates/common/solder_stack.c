/* Stack use by painting the free stack and looking how far the paint has gone. */
#include "solder_stack.h"

#include <stddef.h>

#include "solder_fault.h"
#include "solder_port.h"

#define PAINT 0x57AC57ACu
/* Below a function's own variables its compiler may have spilled others; leave them alone. */
#define SPARED_BYTES 64u

static struct {
    uint32_t used;
    uint32_t used_by_runs;
} stack;

static uint32_t bytes_between(const volatile void *low, const volatile void *high)
{
    return (uint32_t)((uintptr_t)high - (uintptr_t)low);
}

/* Returns the first word from the bottom of the stack that is not paint. */
static const uint32_t *note_use(const struct solder_stack *whole)
{
    const uint32_t *at = whole->low;
    const uint32_t *const end = whole->low + whole->bytes / sizeof *at;
    while (at < end && *at == PAINT) {
        at++;
    }
    const uint32_t used = bytes_between(at, end);
    stack.used = used > stack.used ? used : stack.used;
    return at;
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

/* Without a guard, an overflow has already corrupted the memory below the stack. */
static void stop_overflown(const uint32_t *low)
{
    const struct solder_fault full = {SOLDER_FAULT_STACK, 0, 0, 0, 0, 0, 0, (uint32_t)(uintptr_t)low};
    solder_fault_keep(&full);
    solder_port_reset();
}

void solder_stack_after_runs(const volatile void *top)
{
    const struct solder_stack whole = solder_port_stack();
    const uint32_t *const lowest = note_use(&whole);
    if (whole.bytes > 0 && lowest == whole.low) {
        stop_overflown(lowest);
    }
    const uint32_t used = whole.bytes > 0 ? bytes_between(lowest, top) : 0;
    stack.used_by_runs = used > stack.used_by_runs ? used : stack.used_by_runs;
}

uint32_t solder_stack_used(void)
{
    const struct solder_stack whole = solder_port_stack();
    (void)note_use(&whole);
    return stack.used;
}

uint32_t solder_stack_used_by_runs(void)
{
    return stack.used_by_runs;
}
