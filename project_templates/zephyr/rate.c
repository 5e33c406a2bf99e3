/* The console's UART at other rates, if its driver supports them. */
#include "solder_rate.h"

#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>

#define MOST_RATE 2000000u /* more is not tried: a driver may take what its pins cannot carry */
#define FIRST_RATE DT_PROP_OR(DT_CHOSEN(zephyr_console), current_speed, 115200)

static const struct device *const line = DEVICE_DT_GET(DT_CHOSEN(zephyr_console));

uint32_t solder_port_most_rate(void)
{
    struct uart_config config;

    return uart_config_get(line, &config) == 0 ? MOST_RATE : 0;
}

void solder_port_set_rate(uint32_t bits_per_second)
{
    struct uart_config config;

    if (uart_config_get(line, &config) == 0) {
        config.baudrate = bits_per_second != 0 ? bits_per_second : FIRST_RATE;
        (void)uart_configure(line, &config); /* refused, it stays as it was; the host notices and goes back */
    }
}
