/* Timing against a counter that is a script: it wraps between the readings and within them, and what comes out must
   add up. */
#include <stdio.h>

#include "solder_measure.h"
#include "solder_port.h"
#include "solder_ticks.h"

#define BITS 16u
#define HZ 1000u
#define QUARTER (1u << (BITS - 2u))

static const uint32_t *readings;
static uint32_t step_ms; /* of the slow clock, from one look at it to the next */

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    (void)buffer;
    (void)capacity;
    return 0;
}

void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    (void)bytes;
    (void)count;
}

uint32_t solder_port_ticks(void)
{
    return *readings++;
}

uint32_t solder_port_milliseconds(void)
{
    static uint32_t now = 0xFFFFFFF0u;
    now += step_ms;
    return now;
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {HZ, BITS};
    return counter;
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack unknown = {NULL, 0};
    return unknown;
}

void solder_port_reset(void)
{
}

static int32_t run(void *memory)
{
    (void)memory;
    return 0;
}

static int32_t fail(void *memory)
{
    (void)memory;
    return -5;
}

static int check(const struct solder_timing *timing, int32_t code, uint64_t ticks)
{
    if (timing->code == code && timing->ticks == ticks) {
        return 0;
    }
    printf("code %ld, %llu ticks\n", (long)timing->code, (unsigned long long)timing->ticks);
    return 1;
}

int main(void)
{
    static const uint32_t wrapping[] = {0xFFF0, 0x0010, 0xFFFF, 0xFFFE, 0x0000};
    static const uint32_t interrupted[] = {0xFFF0, 0x0200, 0x0300, 0x0310, 0x0400, 0x0411};
    static const uint32_t failing[] = {5, 9, 0};
    const struct solder_model good = {"", {0}, 0, NULL, 0, 0, 0, NULL, NULL, run, NULL, NULL, NULL, NULL};
    const struct solder_model bad = {"", {0}, 0, NULL, 0, 0, 0, NULL, NULL, fail, NULL, NULL, NULL, NULL};

    readings = wrapping;
    const struct solder_timing four_runs = solder_time_runs(&good, 4, 0);
    readings = interrupted;
    const struct solder_timing nothing = solder_time_nothing(1);
    readings = failing;
    const struct solder_timing first_fails = solder_time_runs(&bad, 2, 0);
    readings = wrapping;
    const uint32_t since = solder_ticks_since(0xFFF1);
    for (uint32_t off = 0; off <= 2 * QUARTER; off += QUARTER) { /* the slow clock is behind, right, before */
        readings = wrapping;
        step_ms = 5 * (1u << BITS) + 0x20 + off - QUARTER;
        const struct solder_timing long_run = solder_time_runs(&good, 1, 0);
        if (check(&long_run, 0, 5 * (1u << BITS) + 0x20)) {
            return 1;
        }
    }
    return check(&four_runs, 0, 0x20 + 0xFFEF + 0xFFFF + 2) || check(&nothing, 0, 0x10) ||
           check(&first_fails, -5, 4) || since != 0xFFFF;
}
