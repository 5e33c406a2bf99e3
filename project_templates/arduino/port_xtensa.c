/* An ESP32's part of the port: the core counts its cycles, the system restarts it. */
#include <esp_system.h>

#include "port.h"
#include "solder_port.h"

void port_begin(void)
{
}

uint32_t solder_port_ticks(void)
{
    uint32_t cycles;

    __asm__ volatile("rsr %0, ccount" : "=r"(cycles));
    return cycles;
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {F_CPU, 32};
    return counter;
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack unknown = {0, 0}; /* a task's, which the system has made */
    return unknown;
}

void solder_port_reset(void)
{
    esp_restart();
    for (;;) {
    }
}
