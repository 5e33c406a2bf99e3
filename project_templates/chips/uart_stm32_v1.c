/* ST's USART with one data register, as F1, F2 and F4 have it; polled. */
#include "board.h"
#include "device.h"

#define STATE_RECEIVED (1u << 5)
#define STATE_SENT (1u << 6) /* the last bit has left */
#define STATE_ROOM_TO_SEND (1u << 7)
#define CR1_ON (1u << 13 | 1u << 3 | 1u << 2) /* the whole, its sender, its receiver; eight bits, no parity */

void uart_set_rate(uint32_t bits_per_second)
{
    BOARD_UART->BRR = (BOARD_UART_CLOCK_HZ + bits_per_second / 2u) / bits_per_second;
}

void uart_init(void)
{
    uart_set_rate(BOARD_UART_BAUD);
    BOARD_UART->CR1 = CR1_ON;
}

uint32_t uart_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while ((BOARD_UART->SR & STATE_RECEIVED) == 0) {
    }
    while (count < capacity && (BOARD_UART->SR & STATE_RECEIVED) != 0) {
        buffer[count++] = (uint8_t)BOARD_UART->DR; /* which also forgets that bytes were lost */
    }
    return count;
}

void uart_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while ((BOARD_UART->SR & STATE_ROOM_TO_SEND) == 0) {
        }
        BOARD_UART->DR = bytes[i];
    }
    while ((BOARD_UART->SR & STATE_SENT) == 0) {
    }
}
