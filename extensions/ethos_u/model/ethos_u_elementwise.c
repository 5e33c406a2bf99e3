/* Operations on pairs of elements, and on single ones. */
#include "ethos_u_device.h"

enum { MUL, ADD, SUB, LEAST, MOST, LRELU, ABS, CLZ, SHR, SHL };

enum { BROADCAST_HEIGHT = 1, BROADCAST_WIDTH = 2, BROADCAST_DEPTH = 4, IS_REVERSED = 0x40, IS_SCALAR = 0x80 };

enum { SCALE_BOTH, SCALE_A, SCALE_B };

struct elementwise {
    struct ethos_u_map ifm, ifm2, ofm;
    int32_t mode;
    int32_t broadcast;
    int32_t scaled_operand;
    struct ethos_u_scale result, operand; /* of the one operand that has a factor of 32 bits */
    int64_t factor_a, factor_b; /* of 16 bits, where both have one */
    uint32_t left; /* shift of the operand that has no factor */
};

/* ---- Sums ------------------------------------------------------------------------------------------------ */

/* Sums are made in fractions of 2^-20 of twice the larger scale for bytes, else of 2^-15, as in TensorFlow Lite. */
static void set_operand_scales(struct ethos_u_device *device, struct elementwise *op)
{
    const uint64_t a = ethos_u_long(device, OPA_SCALE), b = ethos_u_long(device, OPB_SCALE);
    const uint32_t fraction_bits = op->ifm.bytes == 1 ? 20 : 15;
    op->scaled_operand = ethos_u_short(device, IFM_PRECISION) >> 8 & 3;
    op->factor_a = (int64_t)(a & 0xFFFF);
    op->factor_b = (int64_t)(b & 0xFFFF);
    op->left = fraction_bits - 1;
    op->operand.factor = (uint32_t)(a & 0xFFFFFFFF);
    op->operand.shift = (uint32_t)(a >> 32 & 0x3F);
    op->operand.rounding = ethos_u_ofm_rounding(device);
    op->operand.first = FIRST_ROUNDING - fraction_bits;
    if (op->scaled_operand > SCALE_B) {
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
    }
    if (op->mode != MUL && op->scaled_operand == SCALE_BOTH && op->ifm.bytes == 1) {
        op->result.first = NO_FIRST_ROUNDING; /* Vela takes this way only where a first rounding would be exact */
    }
}

/* What a device's registers can never hold is of no interest, but must not overflow here either. */
static int64_t scaled_operand(const struct elementwise *op, int64_t value)
{
    const int64_t most = (int64_t)1 << 48, scaled = ethos_u_scaled(value, &op->operand);
    return scaled < -most ? -most : scaled > most ? most : scaled;
}

static int64_t sum(const struct elementwise *op, int64_t a, int64_t b)
{
    const int64_t one = (int64_t)1 << op->left;
    int64_t left = a * op->factor_a, right = b * op->factor_b;
    if (op->scaled_operand == SCALE_A) {
        left = scaled_operand(op, a);
        right = b * one;
    } else if (op->scaled_operand == SCALE_B) {
        left = a * one;
        right = scaled_operand(op, b);
    }
    return ethos_u_scaled(op->mode == SUB ? left - right : left + right, &op->result);
}

/* ---- The others ------------------------------------------------------------------------------------------ */

/* For 32 bits the device has no factor, only a shift: products of Q31 numbers are Q31 numbers again. */
static int64_t product(const struct elementwise *op, int64_t a, int64_t b)
{
    struct ethos_u_scale scale = op->result;
    if (op->ifm.bytes == 4) {
        scale.factor = 1;
        scale.first = NO_FIRST_ROUNDING;
    }
    return ethos_u_scaled(a * b, &scale);
}

static int64_t leading_zeros(int64_t value)
{
    int32_t count = 0;
    while (count < 32 && !((uint64_t)value >> (31 - count) & 1)) {
        ++count;
    }
    return count;
}

static int64_t shifted_right(const struct elementwise *op, int64_t value, int64_t count)
{
    struct ethos_u_scale scale = op->result;
    scale.factor = 1;
    scale.shift = (uint32_t)(count < 0 ? 0 : count > 63 ? 63 : count);
    scale.first = NO_FIRST_ROUNDING;
    return ethos_u_scaled(value, &scale);
}

/* Bits that leave a word of 32 are lost. */
static int64_t shifted_left(int64_t value, int64_t count)
{
    const uint32_t word = count < 0 || count > 31 ? 0 : (uint32_t)((uint64_t)value & 0xFFFFFFFF) << count;
    return (int64_t)(word & 0x7FFFFFFF) - (int64_t)(word & 0x80000000);
}

static int64_t result_of(const struct elementwise *op, int64_t a, int64_t b)
{
    switch (op->mode) {
    case MUL:
        return product(op, a, b);
    case ADD:
    case SUB:
        return sum(op, a, b);
    case LEAST:
        return a < b ? a : b;
    case MOST:
        return a > b ? a : b;
    case LRELU:
        return a < 0 ? ethos_u_scaled(a, &op->result) : a;
    case ABS:
        return ethos_u_scaled(a < 0 ? -a : a, &op->result);
    case CLZ:
        return leading_zeros(a);
    case SHR:
        return shifted_right(op, a, b);
    default:
        return shifted_left(a, b);
    }
}

/* ---- Elements -------------------------------------------------------------------------------------------- */

static int is_unary(int32_t mode)
{
    return mode == LRELU || mode == ABS || mode == CLZ;
}

static int64_t second_operand(
    struct ethos_u_device *device, const struct elementwise *op, int32_t y, int32_t x, int32_t c)
{
    if (op->broadcast & IS_SCALAR) {
        const int32_t scalar
            = op->ifm2.is_signed ? ethos_u_signed(device, IFM2_SCALAR) : ethos_u_short(device, IFM2_SCALAR);
        return (int64_t)scalar - op->ifm2.zero_point;
    }
    y = op->broadcast & BROADCAST_HEIGHT ? 0 : y;
    x = op->broadcast & BROADCAST_WIDTH ? 0 : x;
    c = op->broadcast & BROADCAST_DEPTH ? 0 : c;
    return (int64_t)ethos_u_load(device, &op->ifm2, y, x, c) - op->ifm2.zero_point;
}

static void element(struct ethos_u_device *device, const struct elementwise *op, int32_t y, int32_t x, int32_t c)
{
    const int64_t first = (int64_t)ethos_u_load(device, &op->ifm, y, x, c) - op->ifm.zero_point;
    const int64_t second = is_unary(op->mode) ? 0 : second_operand(device, op, y, x, c);
    const int is_reversed = !is_unary(op->mode) && op->broadcast & IS_REVERSED;
    const int64_t result = is_reversed ? result_of(op, second, first) : result_of(op, first, second);
    ethos_u_store(device, &op->ofm, y, x, c, ethos_u_activated(device, &op->ofm, result));
}

void ethos_u_elementwise(struct ethos_u_device *device, int32_t mode)
{
    const int32_t rows = ethos_u_short(device, OFM_HEIGHT_M1) + 1, columns = ethos_u_short(device, OFM_WIDTH_M1) + 1;
    const int32_t depth = ethos_u_short(device, OFM_DEPTH_M1) + 1;
    struct elementwise op;
    if (mode < MUL || mode > SHL) {
        ethos_u_fail(device, ETHOS_U_BAD_REGISTER);
    }
    op.mode = mode;
    op.ifm = ethos_u_ifm(device);
    op.ofm = ethos_u_ofm(device);
    op.ifm2 = is_unary(mode) ? op.ifm : ethos_u_ifm2(device);
    op.broadcast = ethos_u_short(device, IFM2_BROADCAST);
    op.result = ethos_u_ofm_scale(device);
    set_operand_scales(device, &op);
    for (int32_t y = 0; y < rows; ++y) {
        for (int32_t x = 0; x < columns; ++x) {
            if (!ethos_u_step(device, (uint64_t)depth)) {
                return;
            }
            for (int32_t c = 0; c < depth; ++c) {
                element(device, &op, y, x, c);
            }
        }
    }
}
