/* The device's view of memory: regions, feature maps in tiles and bricks, DMA. */
#include "ethos_u_device.h"

static const struct ethos_u_region *region_of(struct ethos_u_device *device, int32_t number)
{
    if (number < 0 || number >= ETHOS_U_REGIONS) {
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
        return &device->job->regions[0];
    }
    return &device->job->regions[number];
}

static int is_inside(const struct ethos_u_region *region, uint64_t address, uint64_t size)
{
    return region->bytes && size <= region->size && address <= region->size - size;
}

const uint8_t *ethos_u_read(struct ethos_u_device *device, int32_t region, uint64_t address, uint64_t size)
{
    const struct ethos_u_region *const memory = region_of(device, region);
    if (device->status != ETHOS_U_OK || !is_inside(memory, address, size)) {
        ethos_u_fail(device, ETHOS_U_OUT_OF_REGION);
        return 0;
    }
    return memory->bytes + address;
}

/* ---- Feature maps ---------------------------------------------------------------------------------------- */

/* Strides are signed numbers of 48 bits: mirrored padding goes backwards. */
static int64_t stride(const struct ethos_u_device *device, uint32_t name)
{
    const uint64_t value = device->longs[name] & 0xFFFFFFFFFFFF;
    return value < (uint64_t)1 << 47 ? (int64_t)value : (int64_t)value - ((int64_t)1 << 48);
}

static struct ethos_u_map map_at(
    struct ethos_u_device *device, uint32_t shorts, uint32_t longs, enum ethos_u_short region)
{
    struct ethos_u_map map = { 0 };
    map.region = region_of(device, ethos_u_short(device, region));
    for (uint32_t i = 0; i < 4; ++i) {
        map.base[i] = device->longs[longs + i];
    }
    map.stride_x = stride(device, longs + 4);
    map.stride_y = stride(device, longs + 5);
    map.stride_c = stride(device, longs + 6);
    map.width0 = device->shorts[shorts - 0x100] + 1;
    map.height0 = device->shorts[shorts - 0x100 + 1] + 1;
    map.height1 = device->shorts[shorts - 0x100 + 2] + 1;
    return map;
}

static void set_precision(struct ethos_u_device *device, struct ethos_u_map *map, int32_t precision, int32_t size)
{
    map->is_signed = precision & 1;
    map->in_bricks = (precision >> 6) & 1;
    map->bytes = (uint8_t)(1 << size);
    if (size > 2 || (precision >> 6 & 3) > 1) {
        map->bytes = 1;
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
    }
}

struct ethos_u_map ethos_u_ifm(struct ethos_u_device *device)
{
    struct ethos_u_map map = map_at(device, IFM_WIDTH0_M1, IFM_BASE0, IFM_REGION);
    const int32_t precision = ethos_u_short(device, IFM_PRECISION);
    set_precision(device, &map, precision, precision >> 2 & 3);
    map.zero_point = ethos_u_signed(device, IFM_ZERO_POINT);
    return map;
}

struct ethos_u_map ethos_u_ifm2(struct ethos_u_device *device)
{
    struct ethos_u_map map = map_at(device, IFM2_WIDTH0_M1, IFM2_BASE0, IFM2_REGION);
    const int32_t precision = ethos_u_short(device, IFM2_PRECISION);
    set_precision(device, &map, precision, precision >> 2 & 3);
    map.zero_point = ethos_u_signed(device, IFM2_ZERO_POINT);
    return map;
}

struct ethos_u_map ethos_u_ofm(struct ethos_u_device *device)
{
    struct ethos_u_map map = map_at(device, OFM_WIDTH0_M1, OFM_BASE0, OFM_REGION);
    const int32_t precision = ethos_u_short(device, OFM_PRECISION);
    set_precision(device, &map, precision, precision >> 1 & 3);
    map.zero_point = ethos_u_signed(device, OFM_ZERO_POINT);
    return map;
}

/* Address of an element: a map is cut into four tiles, of which each has a base of its own. */
static uint64_t address(const struct ethos_u_map *map, int32_t y, int32_t x, int32_t c)
{
    uint32_t tile = 0;
    int32_t height = map->height0;
    if (x >= map->width0) {
        x -= map->width0;
        height = map->height1;
        tile = 1;
    }
    if (y >= height) {
        y -= height;
        tile += 2;
    }
    uint64_t at = map->base[tile] + (uint64_t)y * (uint64_t)map->stride_y;
    if (map->in_bricks) {
        at += (uint64_t)(c / 16) * (uint64_t)map->stride_c + (uint64_t)(16 * x + c % 16) * map->bytes;
    } else {
        at += (uint64_t)x * (uint64_t)map->stride_x + (uint64_t)c * map->bytes;
    }
    return at;
}

int32_t ethos_u_load(struct ethos_u_device *device, const struct ethos_u_map *map, int32_t y, int32_t x, int32_t c)
{
    const uint64_t at = address(map, y, x, c);
    if (!is_inside(map->region, at, map->bytes)) {
        ethos_u_fail(device, ETHOS_U_OUT_OF_REGION);
        return 0;
    }
    const uint8_t *const p = map->region->bytes + at;
    if (map->bytes == 1) {
        return map->is_signed && p[0] >= 0x80 ? p[0] - 0x100 : p[0];
    }
    const int32_t low = p[0] | p[1] << 8;
    if (map->bytes == 2) {
        return map->is_signed && low >= 0x8000 ? low - 0x10000 : low;
    }
    return (int32_t)((uint32_t)low | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

void ethos_u_store(
    struct ethos_u_device *device, const struct ethos_u_map *map, int32_t y, int32_t x, int32_t c, int32_t value)
{
    const uint64_t at = address(map, y, x, c);
    if (!is_inside(map->region, at, map->bytes)) {
        ethos_u_fail(device, ETHOS_U_OUT_OF_REGION);
        return;
    }
    if (!map->region->writable) {
        ethos_u_fail(device, ETHOS_U_READ_ONLY);
        return;
    }
    uint8_t *const p = map->region->writable + at;
    for (uint32_t i = 0; i < map->bytes; ++i) {
        p[i] = (uint8_t)((uint32_t)value >> 8 * i & 0xFF);
    }
}

/* ---- DMA ------------------------------------------------------------------------------------------------- */

enum { IS_INTERNAL = 0x100, STRIDE_MODES = 0x600 };

/* Where a transfer writes to: a region, or the tables of activations in the shared RAM. */
static uint8_t *destination(struct ethos_u_device *device, uint64_t size)
{
    const int32_t to = ethos_u_short(device, DMA0_DST_REGION);
    const uint64_t at = ethos_u_long(device, DMA0_DST);
    if (to & IS_INTERNAL) {
        const uint64_t tables = device->shared_ram_bytes - ETHOS_U_LUT_BYTES;
        if (at < tables || size > ETHOS_U_LUT_BYTES || at - tables > ETHOS_U_LUT_BYTES - size) {
            ethos_u_fail(device, ETHOS_U_OUT_OF_REGION);
            return 0;
        }
        return device->lut + (at - tables);
    }
    const struct ethos_u_region *const region = region_of(device, to & 0xFF);
    if (!is_inside(region, at, size)) {
        ethos_u_fail(device, ETHOS_U_OUT_OF_REGION);
        return 0;
    }
    if (!region->writable) {
        ethos_u_fail(device, ETHOS_U_READ_ONLY);
        return 0;
    }
    return region->writable + at;
}

/* Copies bytes as if all were read before one is written. */
static void copy(uint8_t *target, const uint8_t *source, uint32_t size)
{
    for (uint32_t i = 0; i < size; ++i) {
        const uint32_t at = target < source ? i : size - 1 - i;
        target[at] = source[at];
    }
}

void ethos_u_dma(struct ethos_u_device *device)
{
    const int32_t from = ethos_u_short(device, DMA0_SRC_REGION);
    const uint64_t size = ethos_u_long(device, DMA0_LEN);
    if (from & IS_INTERNAL || (from | ethos_u_short(device, DMA0_DST_REGION)) & STRIDE_MODES) {
        ethos_u_fail(device, ETHOS_U_NOT_MODELLED);
        return;
    }
    const uint8_t *const source = ethos_u_read(device, from & 0xFF, ethos_u_long(device, DMA0_SRC), size);
    uint8_t *const target = source ? destination(device, size) : 0;
    if (target && ethos_u_step(device, size)) {
        copy(target, source, (uint32_t)size);
    }
}
