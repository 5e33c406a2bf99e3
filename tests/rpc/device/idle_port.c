/* A port without a line, for tests that call the runtime's functions themselves. */
#include <stddef.h>

#include "solder_port.h"

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
    return 0;
}

uint32_t solder_port_milliseconds(void)
{
    return 0;
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {1u, 32u};
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
