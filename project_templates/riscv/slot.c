/* Code loaded over the line: its memory, and how it becomes executable. */
#include "solder_slot.h"

#include "board.h"

struct solder_slot solder_port_slot(void)
{
    const uint32_t low = (uint32_t)board_slot_low;
    const uint32_t high = (uint32_t)board_slot_high;
    const struct solder_slot slot = {
        (uint8_t *)board_slot_low, high > low ? high - low : 0, board_data_low, board_slot_low};
    return slot;
}

void solder_port_sync_code(const uint8_t *code, uint32_t bytes)
{
    (void)code;
    (void)bytes;
    __asm__ volatile("fence.i" ::: "memory");
}
