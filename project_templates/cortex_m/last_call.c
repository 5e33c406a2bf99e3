/* Finds return addresses: each comes after a call. */
#include "last_call.h"

#define LONGEST_CALL_BYTES 4u

/* `behind` points to the instruction after it. */
static int is_call(const uint16_t *behind)
{
    const int is_bl = (behind[-2] & 0xF800u) == 0xF000u && (behind[-1] & 0xD000u) == 0xD000u;
    const int is_blx = (behind[-1] & 0xFF87u) == 0x4780u;

    return is_bl || is_blx;
}

uint32_t last_call(const uint32_t *low, const uint32_t *high, uint32_t code_low, uint32_t code_high)
{
    for (const uint32_t *at = low; at < high; at++) {
        const uint32_t address = *at - 1u; /* with the Thumb bit */

        if ((address & 1u) == 0 && address >= code_low + LONGEST_CALL_BYTES && address < code_high &&
            is_call((const uint16_t *)address)) {
            return address;
        }
    }
    return 0;
}
