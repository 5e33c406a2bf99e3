/* The device runtime's port to Zephyr: the console's UART, polled, and the core's cycle counter. */
#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/reboot.h>

#include "port.h"
#include "solder_port.h"

static const struct device *const line = DEVICE_DT_GET(DT_CHOSEN(zephyr_console));

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define DEMCR REGISTER(0xE000EDFCu)
#define DEMCR_TRACE (1u << 24)
#define DWT_CONTROL REGISTER(0xE0001000u)
#define DWT_CYCLES_ON 1u
#define COUNTER REGISTER(0xE0001004u) /* cycles of the core */

void port_begin(void)
{
    DEMCR |= DEMCR_TRACE;
    COUNTER = 0;
    DWT_CONTROL |= DWT_CYCLES_ON;
    if (!device_is_ready(line)) {
        k_panic(); /* nothing can be said without the UART: a debugger finds it here */
    }
}

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while (uart_poll_in(line, &buffer[0]) != 0) {
    }
    do {
        count++;
    } while (count < capacity && uart_poll_in(line, &buffer[count]) == 0);
    return count;
}

void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uart_poll_out(line, bytes[i]);
    }
}

uint32_t solder_port_ticks(void)
{
    return COUNTER;
}

uint32_t solder_port_milliseconds(void)
{
    return k_uptime_get_32();
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {64000000u, 32};
    return counter;
}

struct solder_stack solder_port_stack(void)
{
    const struct k_thread *const thread = k_current_get();
    const struct solder_stack stack = {(uint32_t *)thread->stack_info.start, thread->stack_info.size};
    return stack;
}

void solder_port_reset(void)
{
    sys_reboot(SYS_REBOOT_COLD);
    for (;;) {
    }
}
