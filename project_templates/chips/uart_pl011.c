/* Arm's PrimeCell UART, PL011 (Arm DDI 0183), as RP2040 and RP2350 have it; polled. */
#include "board.h"
#include "device.h"

#define STATE_SENDS (1u << 3)
#define STATE_NOTHING_RECEIVED (1u << 4)
#define STATE_FULL (1u << 5)
#define EIGHT_BITS_AND_FIFO (3u << 5 | 1u << 4)
#define ON (1u << 9 | 1u << 8 | 1u << 0) /* its receiver, its sender, the whole */

void uart_set_rate(uint32_t bits_per_second)
{
    const uint32_t share = (8u * BOARD_UART_CLOCK_HZ / bits_per_second + 1u) / 2u; /* 64ths of 16 bits' clocks */

    BOARD_UART->UARTCR = 0;
    BOARD_UART->UARTIBRD = share >> 6;
    BOARD_UART->UARTFBRD = share & 63u;
    BOARD_UART->UARTLCR_H = EIGHT_BITS_AND_FIFO; /* which also takes the rate over */
    BOARD_UART->UARTCR = ON;
}

void uart_init(void)
{
    uart_set_rate(BOARD_UART_BAUD);
}

uint32_t uart_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while ((BOARD_UART->UARTFR & STATE_NOTHING_RECEIVED) != 0) {
    }
    while (count < capacity && (BOARD_UART->UARTFR & STATE_NOTHING_RECEIVED) == 0) {
        buffer[count++] = (uint8_t)BOARD_UART->UARTDR;
    }
    return count;
}

void uart_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while ((BOARD_UART->UARTFR & STATE_FULL) != 0) {
        }
        BOARD_UART->UARTDR = bytes[i];
    }
    while ((BOARD_UART->UARTFR & STATE_SENDS) != 0) {
    }
}
