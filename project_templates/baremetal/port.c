/* The device runtime's port to this board. */
#include "board.h"
#include "solder_port.h"
#ifdef SOLDER_TWO_CORES
#include "second_core.h"
#endif

void board_init(void)
{
    uart_init();
}

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    return uart_read(buffer, capacity);
}

void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    uart_write(bytes, count);
}

uint32_t solder_port_ticks(void)
{
#ifdef BOARD_CORES_IN_TURN
    return BOARD_REGISTER(BOARD_COUNTER_ADDRESS) - board_hidden_ticks;
#else
    return BOARD_REGISTER(BOARD_COUNTER_ADDRESS);
#endif
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {BOARD_COUNTER_HZ, BOARD_COUNTER_BITS};
    return counter;
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack stack = {
        board_stack_low, (uint32_t)board_stack_high - (uint32_t)board_stack_low};
    return stack;
}
