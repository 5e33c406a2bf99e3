/* Two slots for cartridges in RAM, which keep them over a reset and not without power: a board whose flash is to hold
   them has these two functions for its flash instead. */
#include <string.h>

#include "solder_cartridge.h"
#include "solder_fault.h" /* SOLDER_NOINIT */

static SOLDER_NOINIT uint8_t memory[2][SOLDER_CARTRIDGE_SLOT_BYTES] __attribute__((aligned(64)));

struct solder_slots solder_slots = {{memory[0], memory[1]}, SOLDER_CARTRIDGE_SLOT_BYTES};

int solder_port_erase(uint32_t slot)
{
    memset(memory[slot], 0xFF, SOLDER_CARTRIDGE_SLOT_BYTES);
    return 0;
}

int solder_port_program(uint8_t *to, const uint8_t *bytes, uint32_t count)
{
    memcpy(to, bytes, count);
    return 0;
}
