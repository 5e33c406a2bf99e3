/* The boot counter and the last fault, in memory that a reset leaves alone. */
#include "solder_fault.h"

#define MAGIC 0x501DE12Du

SOLDER_NOINIT struct solder_kept solder_kept;

/* Spreads every bit of x over the result. */
static uint32_t mix(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

void solder_fault_keep(const struct solder_fault *fault)
{
    solder_kept.magic = MAGIC; /* a stack that overflowed may have been here */
    solder_kept.fault = *fault;
    solder_kept.fault_boot = solder_kept.boots;
}

uint32_t solder_fault_boot(uint32_t ticks)
{
    if (solder_kept.magic != MAGIC) {
        const struct solder_fault none = {SOLDER_NO_FAULT, 0, 0, 0, 0, 0, 0, 0};
        /* After power on the words hold the random content of the memory cells: some entropy. */
        solder_kept.nonce ^= mix(solder_kept.boots) ^ solder_kept.fault.pc;
        solder_kept.magic = MAGIC;
        solder_kept.boots = 0;
        solder_kept.fault_boot = 0;
        solder_kept.fault = none;
    }
    solder_kept.boots++;
    solder_kept.nonce = mix(solder_kept.nonce + mix(ticks) + solder_kept.boots);
    return solder_kept.nonce;
}
