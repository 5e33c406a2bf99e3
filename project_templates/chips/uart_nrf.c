/* Nordic's UART without DMA, as in nRF51 and nRF52; polled. It sends a byte and reports when it is out. */
#include "board.h"
#include "device.h"

#define ON 4u
#define RATE_UNIT 0x1000u /* the register's rates are multiples of it, a rate of 2^32 being its clock's */

void uart_set_rate(uint32_t bits_per_second)
{
    const uint64_t share = ((uint64_t)bits_per_second << 32) / BOARD_UART_CLOCK_HZ;

    BOARD_UART->BAUDRATE = (uint32_t)(share + RATE_UNIT / 2u) / RATE_UNIT * RATE_UNIT;
}

void uart_init(void)
{
    uart_set_rate(BOARD_UART_BAUD);
    BOARD_UART->ENABLE = ON;
    BOARD_UART->TASKS_STARTTX = 1;
    BOARD_UART->TASKS_STARTRX = 1;
}

uint32_t uart_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while (BOARD_UART->EVENTS_RXDRDY == 0) {
    }
    while (count < capacity && BOARD_UART->EVENTS_RXDRDY != 0) {
        BOARD_UART->EVENTS_RXDRDY = 0; /* before the byte is taken: the next one may come at once */
        buffer[count++] = (uint8_t)BOARD_UART->RXD;
    }
    return count;
}

void uart_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        BOARD_UART->EVENTS_TXDRDY = 0;
        BOARD_UART->TXD = bytes[i];
        while (BOARD_UART->EVENTS_TXDRDY == 0) {
        }
    }
}
