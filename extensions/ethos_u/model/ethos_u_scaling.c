/* What is behind the sums: scaling in three modes of rounding, zero point, clamp, tables of activations. */
#include "ethos_u_device.h"

#include <limits.h>

/* What a mode adds to a product before it is shifted.
 *
 * TFL is TensorFlow Lite's rounding to 31 bits and then to what is left of the shift, halves away from zero;
 * both are one addition: a half, and a half of the first rounding in the direction of the sign.
 */
static int64_t addend(int64_t value, const struct ethos_u_scale *scale)
{
    const uint32_t shift = scale->shift;
    if (shift == 0) {
        return 0;
    }
    const int64_t half = (int64_t)1 << (shift - 1);
    switch (scale->rounding) {
    case ROUND_TRUNCATE:
        return value < 0 ? (int64_t)(((uint64_t)1 << shift) - 1) : 0;
    case ROUND_TFL:
        if (scale->first == NO_FIRST_ROUNDING) {
            return half - (value < 0);
        }
        if (shift > scale->first) {
            const int64_t first = (int64_t)1 << (scale->first - 1);
            return value < 0 ? half - first : half + first;
        }
        return half;
    default:
        return half;
    }
}

/* value * factor >> shift, with a product of up to 96 bits. */
int64_t ethos_u_scaled(int64_t value, const struct ethos_u_scale *scale)
{
    const uint64_t low = (uint64_t)(value & 0xFFFFFFFF) * scale->factor;
    const int64_t high = (value >> 32) * (int64_t)scale->factor + (int64_t)(low >> 32);
    const int64_t add = addend(value, scale);
    const uint64_t sum_low = (low & 0xFFFFFFFF) + (uint64_t)(add & 0xFFFFFFFF);
    const int64_t sum_high = high + (add >> 32) + (int64_t)(sum_low >> 32);
    if (scale->shift >= 32) {
        return sum_high >> (scale->shift - 32);
    }
    const uint32_t left = 32 - scale->shift;
    if (sum_high > INT64_MAX >> left || sum_high < INT64_MIN >> left) {
        return sum_high < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum_high * ((int64_t)1 << left) + (int64_t)((sum_low & 0xFFFFFFFF) >> scale->shift);
}

enum ethos_u_rounding ethos_u_ofm_rounding(const struct ethos_u_device *device)
{
    switch (ethos_u_short(device, OFM_PRECISION) >> 14 & 3) {
    case 0:
        return ROUND_TFL;
    case 1:
        return ROUND_TRUNCATE;
    default:
        return ROUND_NATURAL;
    }
}

struct ethos_u_scale ethos_u_ofm_scale(const struct ethos_u_device *device)
{
    const uint64_t value = ethos_u_long(device, OFM_SCALE);
    const struct ethos_u_scale scale = {
        (uint32_t)(value & 0xFFFFFFFF), (uint32_t)(value >> 32 & 0x3F), ethos_u_ofm_rounding(device), FIRST_ROUNDING
    };
    return scale;
}

int ethos_u_is_scaled_globally(const struct ethos_u_device *device)
{
    return ethos_u_short(device, OFM_PRECISION) >> 8 & 1;
}

/* ---- Activations ----------------------------------------------------------------------------------------- */

enum { FIRST_TABLE = 16, LAST_TABLE = 23, TABLE_BYTES = 256 };

static int64_t clamped(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static int32_t least_of(const struct ethos_u_map *map)
{
    return !map->is_signed ? 0 : map->bytes == 1 ? INT8_MIN : map->bytes == 2 ? INT16_MIN : INT32_MIN;
}

static int32_t most_of(const struct ethos_u_map *map)
{
    const int32_t most = map->bytes == 1 ? UINT8_MAX : map->bytes == 2 ? UINT16_MAX : INT32_MAX;
    return !map->is_signed ? most : map->bytes == 1 ? INT8_MAX : map->bytes == 2 ? INT16_MAX : INT32_MAX;
}

static uint32_t table_word(const struct ethos_u_device *device, uint32_t at)
{
    const uint8_t *const p = device->lut + at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int32_t signed16(uint32_t value)
{
    return (int32_t)(value & 0x7FFF) - (int32_t)(value & 0x8000);
}

/* 512 values with the steps to their successors, for inputs of 16 bits. */
static int32_t interpolated(const struct ethos_u_device *device, int32_t value)
{
    const uint32_t entry = table_word(device, 4 * (uint32_t)((value >> 7) + 256));
    const int32_t base = signed16(entry), slope = signed16(entry >> 16);
    return base + ((slope * (value & 0x7F) + 64) >> 7);
}

static int32_t looked_up(struct ethos_u_device *device, const struct ethos_u_map *ofm, int64_t value, uint32_t table)
{
    const uint32_t begin = table * TABLE_BYTES;
    if (ofm->bytes == 2) {
        return (int32_t)clamped(
            interpolated(device, (int32_t)clamped(value, INT16_MIN, INT16_MAX)), least_of(ofm), most_of(ofm));
    }
    const int32_t first = ofm->is_signed || ofm->bytes == 4 ? INT8_MIN : 0;
    const uint32_t index = (uint32_t)(clamped(value, first, first + 255) - first);
    if (ofm->bytes == 1) {
        const int32_t entry = device->lut[begin + index];
        return ofm->is_signed && entry >= 0x80 ? entry - 0x100 : entry;
    }
    if (begin + 4 * TABLE_BYTES > ETHOS_U_LUT_BYTES) {
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
        return 0;
    }
    return (int32_t)table_word(device, begin + 4 * index);
}

int32_t ethos_u_activated(struct ethos_u_device *device, const struct ethos_u_map *ofm, int64_t value)
{
    const int32_t activation = ethos_u_short(device, ACTIVATION) & 0xFFF;
    const int has_table = activation >= FIRST_TABLE && activation <= LAST_TABLE;
    int64_t result = clamped(value, INT64_MIN / 2, INT64_MAX / 2) + ofm->zero_point;
    if (activation != 0 && !has_table) {
        ethos_u_fail(device, ETHOS_U_NOT_MODELLED); /* the curves of tanh and sigmoid that are in the device */
    }
    if (ofm->bytes < 4 || has_table) {
        result = clamped(result, ethos_u_signed(device, ACTIVATION_MIN), ethos_u_signed(device, ACTIVATION_MAX));
    }
    if (has_table) {
        return looked_up(device, ofm, result, (uint32_t)(activation - FIRST_TABLE));
    }
    return (int32_t)clamped(result, least_of(ofm), most_of(ofm));
}
