/* Arrays of the host's take what is left of the board's memory. */
#include "board.h"
#include "solder_array.h"

struct solder_heap solder_port_heap(void)
{
    const uint32_t low = (uint32_t)board_slot_low;
    const uint32_t high = (uint32_t)board_slot_high;
    const struct solder_heap heap = {(uint8_t *)board_slot_low, high > low ? high - low : 0};
    return heap;
}
