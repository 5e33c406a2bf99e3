/* ST's USART with a register for each direction, as F0, F3, F7, G0, G4, L4 and H7 have it; polled. */
#include "board.h"
#include "device.h"

#define STATE_LOST (1u << 3)
#define STATE_RECEIVED (1u << 5)
#define STATE_SENT (1u << 6) /* the last bit has left */
#define STATE_ROOM_TO_SEND (1u << 7)
#define CR1_ON (1u << 3 | 1u << 2 | 1u << 0) /* its sender, its receiver, the whole; eight bits, no parity */

void uart_set_rate(uint32_t bits_per_second)
{
    BOARD_UART->CR1 = 0; /* its rate can be written only while it is off */
    BOARD_UART->BRR = (BOARD_UART_CLOCK_HZ + bits_per_second / 2u) / bits_per_second;
    BOARD_UART->CR1 = CR1_ON;
}

void uart_init(void)
{
    uart_set_rate(BOARD_UART_BAUD);
}

uint32_t uart_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while ((BOARD_UART->ISR & STATE_RECEIVED) == 0) {
        BOARD_UART->ICR = STATE_LOST; /* else nothing more is received after a byte was lost */
    }
    while (count < capacity && (BOARD_UART->ISR & STATE_RECEIVED) != 0) {
        buffer[count++] = (uint8_t)BOARD_UART->RDR;
    }
    return count;
}

void uart_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while ((BOARD_UART->ISR & STATE_ROOM_TO_SEND) == 0) {
        }
        BOARD_UART->TDR = bytes[i];
    }
    while ((BOARD_UART->ISR & STATE_SENT) == 0) {
    }
}
