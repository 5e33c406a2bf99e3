/* The UART of Arm's Cortex-M System Design Kit (Arm DDI 0479), polled. */
#include "board.h"

#define DATA BOARD_REGISTER(BOARD_UART_ADDRESS + 0x00u)
#define STATE BOARD_REGISTER(BOARD_UART_ADDRESS + 0x04u)
#define CTRL BOARD_REGISTER(BOARD_UART_ADDRESS + 0x08u)
#define BAUDDIV BOARD_REGISTER(BOARD_UART_ADDRESS + 0x10u)

#define STATE_TX_FULL 1u
#define STATE_RX_FULL 2u
#define CTRL_TX_ENABLE 1u
#define CTRL_RX_ENABLE 2u

void uart_set_rate(uint32_t bits_per_second)
{
    BAUDDIV = BOARD_UART_CLOCK_HZ / bits_per_second;
}

void uart_init(void)
{
    uart_set_rate(BOARD_UART_BAUD);
    CTRL = CTRL_TX_ENABLE | CTRL_RX_ENABLE;
    /* Drops an older byte. QEMU also looks for input again only after a read, not after enabling:
       without a read, early bytes of the host may wait for seconds. */
    (void)DATA;
}

uint32_t uart_read(uint8_t *buffer, uint32_t capacity)
{
    uint32_t count = 0;

    while ((STATE & STATE_RX_FULL) == 0) {
    }
    while (count < capacity && (STATE & STATE_RX_FULL) != 0) {
        buffer[count++] = (uint8_t)DATA;
    }
    return count;
}

void uart_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while ((STATE & STATE_TX_FULL) != 0) {
        }
        DATA = bytes[i];
    }
}
