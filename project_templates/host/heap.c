/* Arrays of the host's, in this process as on a board with a megabyte to spare. */
#include "solder_array.h"

#define HEAP_BYTES 0x100000u

struct solder_heap solder_port_heap(void)
{
    static uint8_t memory[HEAP_BYTES] __attribute__((aligned(SOLDER_HEAP_ALIGNMENT)));
    const struct solder_heap heap = {memory, sizeof memory};
    return heap;
}
