/* Little-endian numbers in byte buffers, whatever the processor's alignment and byte order. */
#ifndef SOLDER_BYTES_H
#define SOLDER_BYTES_H

#include <stdint.h>

static inline uint16_t solder_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | ((uint32_t)at[1] << 8));
}

static inline uint32_t solder_get32(const uint8_t *at)
{
    return solder_get16(at) | ((uint32_t)solder_get16(at + 2) << 16);
}

static inline void solder_set16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void solder_set32(uint8_t *at, uint32_t value)
{
    solder_set16(at, value);
    solder_set16(at + 2, value >> 16);
}

#endif
