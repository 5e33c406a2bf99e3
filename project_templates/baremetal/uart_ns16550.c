/* The UART that PCs had, as RISC-V boards have it: registers of one byte, one after the other; polled. */
#include "board.h"

#define REGISTER(number) (*(volatile uint8_t *)(BOARD_UART_ADDRESS + (number)))
#define DATA REGISTER(0u) /* and with DIVISOR_ACCESS the divisor, low and high */
#define DIVISOR_HIGH REGISTER(1u)
#define FIFO REGISTER(2u)
#define LINE_CONTROL REGISTER(3u)
#define LINE_STATE REGISTER(5u)

#define FIFO_ON_AND_EMPTY 0x07u
#define EIGHT_BITS 0x03u
#define DIVISOR_ACCESS 0x80u
#define STATE_RECEIVED 0x01u
#define STATE_ROOM_TO_SEND 0x20u

void uart_set_rate(uint32_t bits_per_second)
{
    const uint32_t divisor = BOARD_UART_CLOCK_HZ / (16u * bits_per_second);

    LINE_CONTROL = EIGHT_BITS | DIVISOR_ACCESS;
    DATA = (uint8_t)divisor;
    DIVISOR_HIGH = (uint8_t)(divisor >> 8);
    LINE_CONTROL = EIGHT_BITS;
}

void uart_init(void)
{
    uart_set_rate(BOARD_UART_BAUD);
    FIFO = FIFO_ON_AND_EMPTY;
}

uint32_t uart_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while ((LINE_STATE & STATE_RECEIVED) == 0) {
    }
    while (count < capacity && (LINE_STATE & STATE_RECEIVED) != 0) {
        buffer[count++] = DATA;
    }
    return count;
}

void uart_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while ((LINE_STATE & STATE_ROOM_TO_SEND) == 0) {
        }
        DATA = bytes[i];
    }
}
