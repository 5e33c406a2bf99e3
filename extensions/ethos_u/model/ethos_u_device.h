/* The inside of the model: the registers of the device and what its parts offer each other. */
#ifndef ETHOS_U_DEVICE_H
#define ETHOS_U_DEVICE_H

#include "ethos_u_model.h"

enum {
    ETHOS_U_LUT_BYTES = 2048, /* the last of the shared RAM */
    ETHOS_U_SHORT_REGISTERS = 0x90, /* commands without payload, from 0x100 */
    ETHOS_U_LONG_REGISTERS = 0x94, /* commands with payload */
    ETHOS_U_MOST_BLOCK_DEPTH = 128
};

/* Registers of 16 bits, by their commands. */
enum ethos_u_short {
    IFM_PAD_TOP = 0x100,
    IFM_PAD_LEFT = 0x101,
    IFM_PAD_RIGHT = 0x102,
    IFM_PAD_BOTTOM = 0x103,
    IFM_DEPTH_M1 = 0x104,
    IFM_PRECISION = 0x105,
    IFM_UPSCALE = 0x107,
    IFM_ZERO_POINT = 0x109,
    IFM_WIDTH0_M1 = 0x10A,
    IFM_HEIGHT0_M1 = 0x10B,
    IFM_HEIGHT1_M1 = 0x10C,
    IFM_IB_END = 0x10D,
    IFM_REGION = 0x10F,
    OFM_WIDTH_M1 = 0x111,
    OFM_HEIGHT_M1 = 0x112,
    OFM_DEPTH_M1 = 0x113,
    OFM_PRECISION = 0x114,
    OFM_BLK_WIDTH_M1 = 0x115,
    OFM_BLK_HEIGHT_M1 = 0x116,
    OFM_BLK_DEPTH_M1 = 0x117,
    OFM_ZERO_POINT = 0x118,
    OFM_WIDTH0_M1 = 0x11A,
    OFM_HEIGHT0_M1 = 0x11B,
    OFM_HEIGHT1_M1 = 0x11C,
    OFM_REGION = 0x11F,
    KERNEL_WIDTH_M1 = 0x120,
    KERNEL_HEIGHT_M1 = 0x121,
    KERNEL_STRIDE = 0x122,
    PARALLEL_MODE = 0x123,
    ACC_FORMAT = 0x124,
    ACTIVATION = 0x125,
    ACTIVATION_MIN = 0x126,
    ACTIVATION_MAX = 0x127,
    WEIGHT_REGION = 0x128,
    SCALE_REGION = 0x129,
    AB_START = 0x12D,
    BLOCKDEP = 0x12F,
    DMA0_SRC_REGION = 0x130,
    DMA0_DST_REGION = 0x131,
    IFM2_BROADCAST = 0x180,
    IFM2_SCALAR = 0x181,
    IFM2_PRECISION = 0x185,
    IFM2_ZERO_POINT = 0x189,
    IFM2_WIDTH0_M1 = 0x18A,
    IFM2_HEIGHT0_M1 = 0x18B,
    IFM2_HEIGHT1_M1 = 0x18C,
    IFM2_IB_START = 0x18D,
    IFM2_REGION = 0x18F
};

/* Registers of 48 bits: the payload, and above it the parameter. */
enum ethos_u_long {
    IFM_BASE0 = 0x00,
    IFM_STRIDE_X = 0x04,
    IFM_STRIDE_Y = 0x05,
    IFM_STRIDE_C = 0x06,
    OFM_BASE0 = 0x10,
    OFM_STRIDE_X = 0x14,
    OFM_STRIDE_Y = 0x15,
    OFM_STRIDE_C = 0x16,
    WEIGHT_BASE = 0x20,
    WEIGHT_LENGTH = 0x21,
    SCALE_BASE = 0x22,
    SCALE_LENGTH = 0x23,
    OFM_SCALE = 0x24,
    OPA_SCALE = 0x25,
    OPB_SCALE = 0x26,
    DMA0_SRC = 0x30,
    DMA0_DST = 0x31,
    DMA0_LEN = 0x32,
    IFM2_BASE0 = 0x80,
    IFM2_STRIDE_X = 0x84,
    IFM2_STRIDE_Y = 0x85,
    IFM2_STRIDE_C = 0x86
};

struct ethos_u_device {
    const struct ethos_u_job *job;
    enum ethos_u_status status; /* the first that was not OK */
    uint64_t steps_left;
    uint32_t shared_ram_bytes;
    uint32_t ofm_ublock_depth, ifm_ublock_depth;
    uint16_t shorts[ETHOS_U_SHORT_REGISTERS];
    uint64_t longs[ETHOS_U_LONG_REGISTERS];
    uint8_t lut[ETHOS_U_LUT_BYTES];
};

/* A feature map: what the registers of IFM, IFM2 or OFM say of it. */
struct ethos_u_map {
    const struct ethos_u_region *region;
    uint64_t base[4];
    int64_t stride_x, stride_y, stride_c;
    int32_t height0, height1, width0;
    int32_t zero_point;
    uint8_t bytes; /* of an element: 1, 2, 4 */
    uint8_t is_signed;
    uint8_t in_bricks; /* NHCWB16: bricks of 16 channels; else NHWC */
};

/* ethos_u_model.c */
void ethos_u_fail(struct ethos_u_device *device, enum ethos_u_status status);
int ethos_u_step(struct ethos_u_device *device, uint64_t steps); /* counts; false where there are none left */
int32_t ethos_u_short(const struct ethos_u_device *device, enum ethos_u_short name);
int32_t ethos_u_signed(const struct ethos_u_device *device, enum ethos_u_short name);
uint64_t ethos_u_long(const struct ethos_u_device *device, enum ethos_u_long name);

/* ethos_u_memory.c */
const uint8_t *ethos_u_read(struct ethos_u_device *device, int32_t region, uint64_t address, uint64_t size);
struct ethos_u_map ethos_u_ifm(struct ethos_u_device *device);
struct ethos_u_map ethos_u_ifm2(struct ethos_u_device *device);
struct ethos_u_map ethos_u_ofm(struct ethos_u_device *device);
int32_t ethos_u_load(
    struct ethos_u_device *device, const struct ethos_u_map *map, int32_t y, int32_t x, int32_t c);
void ethos_u_store(
    struct ethos_u_device *device, const struct ethos_u_map *map, int32_t y, int32_t x, int32_t c, int32_t value);
void ethos_u_dma(struct ethos_u_device *device);

/* ethos_u_scaling.c */
enum ethos_u_rounding { ROUND_TFL, ROUND_TRUNCATE, ROUND_NATURAL };

enum { FIRST_ROUNDING = 31, NO_FIRST_ROUNDING = 64 };

struct ethos_u_scale {
    uint32_t factor;
    uint32_t shift;
    enum ethos_u_rounding rounding;
    uint32_t first; /* shift at which the mode TFL rounds a first time */
};

int64_t ethos_u_scaled(int64_t value, const struct ethos_u_scale *scale);
enum ethos_u_rounding ethos_u_ofm_rounding(const struct ethos_u_device *device);
struct ethos_u_scale ethos_u_ofm_scale(const struct ethos_u_device *device);
int ethos_u_is_scaled_globally(const struct ethos_u_device *device);
/* What is stored for a scaled value: zero point, clamp, table. */
int32_t ethos_u_activated(struct ethos_u_device *device, const struct ethos_u_map *ofm, int64_t value);

/* ethos_u_weights.c */
struct ethos_u_filter {
    int32_t height, width, depth, channels; /* depth is 1 for depthwise convolutions */
    int32_t dilation_y, dilation_x;
    int32_t block_depth;
    uint8_t is_depthwise, is_part_kernel_first;
    uint8_t ifm_bits;
};

/* Decodes the weights of channels first to first + count, as [y][x][depth][channel]. */
void ethos_u_decode(struct ethos_u_device *device, const struct ethos_u_filter *filter, int32_t first, int32_t count);

/* ethos_u_operations.c */
void ethos_u_convolution(struct ethos_u_device *device, int is_depthwise);
void ethos_u_pool(struct ethos_u_device *device, int32_t mode);

/* ethos_u_elementwise.c */
void ethos_u_elementwise(struct ethos_u_device *device, int32_t mode);

#endif
