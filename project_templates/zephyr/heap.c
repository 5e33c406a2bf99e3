/* Memory for arrays of the host's, which functions change or take often: as much as is worth it here. */
#include "solder_array.h"

#define HEAP_BYTES 4096u

struct solder_heap solder_port_heap(void)
{
    static uint8_t memory[HEAP_BYTES] __attribute__((aligned(SOLDER_HEAP_ALIGNMENT)));
    const struct solder_heap heap = {memory, sizeof memory};
    return heap;
}
