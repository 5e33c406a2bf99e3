/* The line's key of the locked test device: bytes 0 to 31. */
#include "solder_lock.h"

const uint32_t solder_line_key[8] = {
    0x03020100u,
    0x07060504u,
    0x0b0a0908u,
    0x0f0e0d0cu,
    0x13121110u,
    0x17161514u,
    0x1b1a1918u,
    0x1f1e1d1cu
};
