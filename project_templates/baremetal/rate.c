/* The UART at other rates: both kinds divide their clock by 16 at least. */
#include "board.h"
#include "solder_rate.h"

uint32_t solder_port_most_rate(void)
{
    return BOARD_UART_CLOCK_HZ / 16u;
}

void solder_port_set_rate(uint32_t bits_per_second)
{
    uart_set_rate(bits_per_second != 0 ? bits_per_second : BOARD_UART_BAUD);
}
