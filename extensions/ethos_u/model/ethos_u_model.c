/* The device's front: reads commands, keeps registers, starts operations. */
#include "ethos_u_device.h"

static uint32_t word_at(const struct ethos_u_job *job, uint32_t position)
{
    const uint8_t *const p = job->payload + position;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void ethos_u_fail(struct ethos_u_device *device, enum ethos_u_status status)
{
    if (device->status == ETHOS_U_OK) {
        device->status = status;
    }
}

int ethos_u_step(struct ethos_u_device *device, uint64_t steps)
{
    if (device->job->most_steps != 0) {
        if (device->steps_left < steps) {
            ethos_u_fail(device, ETHOS_U_TOO_MANY_STEPS);
            return 0;
        }
        device->steps_left -= steps;
    }
    return device->status == ETHOS_U_OK;
}

int32_t ethos_u_short(const struct ethos_u_device *device, enum ethos_u_short name)
{
    return device->shorts[(uint32_t)name - 0x100];
}

int32_t ethos_u_signed(const struct ethos_u_device *device, enum ethos_u_short name)
{
    const int32_t value = ethos_u_short(device, name);
    return value < 0x8000 ? value : value - 0x10000;
}

uint64_t ethos_u_long(const struct ethos_u_device *device, enum ethos_u_long name)
{
    return device->longs[name];
}

/* ---- Commands -------------------------------------------------------------------------------------------- */

enum {
    OP_STOP = 0x000,
    OP_IRQ = 0x001,
    OP_CONV = 0x002,
    OP_DEPTHWISE = 0x003,
    OP_POOL = 0x005,
    OP_ELEMENTWISE = 0x006,
    OP_DMA_START = 0x010,
    OP_DMA_WAIT = 0x011,
    OP_KERNEL_WAIT = 0x012,
    OP_PMU_MASK = 0x013,
    HAS_PAYLOAD = 0x4000,
    IS_RESERVED = 0xBC00 /* bits of a code that no command has */
};

static void operate(struct ethos_u_device *device, uint32_t code, uint32_t parameter)
{
    switch (code) {
    case OP_IRQ:
    case OP_DMA_WAIT:
    case OP_KERNEL_WAIT:
    case OP_PMU_MASK:
        break; /* everything before it has ended */
    case OP_CONV:
        ethos_u_convolution(device, 0);
        break;
    case OP_DEPTHWISE:
        ethos_u_convolution(device, 1);
        break;
    case OP_POOL:
        ethos_u_pool(device, (int32_t)parameter);
        break;
    case OP_ELEMENTWISE:
        ethos_u_elementwise(device, (int32_t)parameter);
        break;
    case OP_DMA_START:
        ethos_u_dma(device);
        break;
    default:
        ethos_u_fail(device, ETHOS_U_UNKNOWN_COMMAND);
        break;
    }
}

static int is_short_register(uint32_t code)
{
    static const uint16_t known[] = {
        0x100, 0x101, 0x102, 0x103, 0x104, 0x105, 0x107, 0x109, 0x10A, 0x10B, 0x10C, 0x10D, 0x10F, 0x111, 0x112, 0x113,
        0x114, 0x115, 0x116, 0x117, 0x118, 0x11A, 0x11B, 0x11C, 0x11F, 0x120, 0x121, 0x122, 0x123, 0x124, 0x125, 0x126,
        0x127, 0x128, 0x129, 0x12D, 0x12F, 0x130, 0x131, 0x132, 0x133, 0x180, 0x181, 0x185, 0x189, 0x18A, 0x18B, 0x18C,
        0x18D, 0x18F
    };
    for (uint32_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (known[i] == code) {
            return 1;
        }
    }
    return 0;
}

static int is_long_register(uint32_t code)
{
    const uint32_t group = code & 0xF0, place = code & 0x0F;
    return code < ETHOS_U_LONG_REGISTERS
        && ((group == 0x00 && place <= 6) || (group == 0x10 && place <= 6) || (group == 0x20 && place <= 6)
            || (group == 0x30 && place <= 4) || (group == 0x80 && place <= 6) || (group == 0x90 && place <= 3));
}

/* Executes one command and answers with its size in bytes; zero behind the last one. */
static uint32_t command(struct ethos_u_device *device, uint32_t position, uint32_t end)
{
    const uint32_t word = word_at(device->job, position);
    const uint32_t code = word & 0x3FF, parameter = word >> 16;
    if (word & IS_RESERVED) {
        ethos_u_fail(device, ETHOS_U_UNKNOWN_COMMAND);
        return 4;
    }
    if (word & HAS_PAYLOAD) {
        if (end - position < 8 || !is_long_register(code)) {
            ethos_u_fail(device, ETHOS_U_UNKNOWN_COMMAND);
            return 4;
        }
        device->longs[code] = (uint64_t)parameter << 32 | word_at(device->job, position + 4);
        return 8;
    }
    if (code == OP_STOP) {
        return 0;
    }
    if (is_short_register(code)) {
        device->shorts[code - 0x100] = (uint16_t)parameter;
    } else {
        operate(device, code, parameter);
    }
    return 4;
}

static void commands(struct ethos_u_device *device, uint32_t begin, uint32_t end, struct ethos_u_fault *fault)
{
    for (uint32_t position = begin; device->status == ETHOS_U_OK;) {
        fault->position = position;
        if (end - position < 4) {
            ethos_u_fail(device, ETHOS_U_NO_STOP);
            return;
        }
        fault->code = (uint16_t)(word_at(device->job, position) & 0xFFFF);
        const uint32_t size = command(device, position, end);
        if (size == 0) {
            return;
        }
        position += size;
    }
}

/* ---- The payload around the commands --------------------------------------------------------------------- */

struct configuration {
    uint8_t macs_log2;
    uint8_t ofm_ublock_depth;
    uint32_t shared_ram_bytes;
};

static const struct configuration CONFIGURATIONS[] = {
    { 5, 4, 16 * 1024 }, { 6, 8, 16 * 1024 }, { 7, 8, 24 * 1024 }, { 8, 8, 48 * 1024 }
};

static void configure(struct ethos_u_device *device, uint32_t word)
{
    for (uint32_t i = 0; i < sizeof CONFIGURATIONS / sizeof CONFIGURATIONS[0]; ++i) {
        const struct configuration *const known = &CONFIGURATIONS[i];
        if (known->macs_log2 == (word & 0xF)) {
            device->ofm_ublock_depth = known->ofm_ublock_depth;
            device->ifm_ublock_depth = 8;
            device->shared_ram_bytes = known->shared_ram_bytes;
        }
    }
    if (device->shared_ram_bytes != ((word >> 8) & 0xFF) * 1024) {
        ethos_u_fail(device, ETHOS_U_OTHER_CONFIGURATION); /* two cores, or an NPU of another kind */
    }
}

enum { FOURCC = 0x31504F43, CONFIGURE = 1, COMMANDS = 2, NOP = 5 };

/* Follows the driver's actions up to the commands and executes these. */
static void actions(struct ethos_u_device *device, struct ethos_u_fault *fault)
{
    const struct ethos_u_job *const job = device->job;
    uint32_t position = 4;
    if (job->payload_bytes < 8 || word_at(job, 0) != FOURCC) {
        ethos_u_fail(device, ETHOS_U_BAD_PAYLOAD);
        return;
    }
    while (job->payload_bytes - position >= 4) {
        const uint32_t word = word_at(job, position);
        const uint32_t left = job->payload_bytes - position;
        fault->position = position;
        if ((word & 0xFF) == CONFIGURE && left >= 12) {
            configure(device, word_at(job, position + 4));
            position += 12;
        } else if ((word & 0xFF) == NOP) {
            position += 4;
        } else if ((word & 0xFF) == COMMANDS && device->shared_ram_bytes != 0) {
            const uint32_t words = (word >> 8 & 0xFF) << 16 | word >> 16;
            if (words > (left - 4) / 4) {
                break;
            }
            commands(device, position + 4, position + 4 + 4 * words, fault);
            return;
        } else {
            break;
        }
        if (device->status != ETHOS_U_OK) {
            return;
        }
    }
    ethos_u_fail(device, ETHOS_U_BAD_PAYLOAD);
}

enum ethos_u_status ethos_u_run(const struct ethos_u_job *job, struct ethos_u_fault *fault)
{
    struct ethos_u_device device = { 0 };
    struct ethos_u_fault ours = { ETHOS_U_OK, 0, 0 };
    device.job = job;
    device.steps_left = job->most_steps;
    actions(&device, &ours);
    ours.status = device.status;
    if (fault) {
        *fault = ours;
    }
    return device.status;
}

const char *ethos_u_status_text(enum ethos_u_status status)
{
    static const char *const texts[] = {
        "done",
        "the payload is not one of Vela's: \"COP1\", a configuration, commands",
        "the commands are for another NPU than an Ethos-U55 or Ethos-U65 of one core",
        "there is no such command",
        "the commands end without NPU_OP_STOP",
        "an address is outside its region",
        "an address to write to is in a region that can only be read",
        "a register has a value that no device takes",
        "the model does not know what the device computes here",
        "the weights do not decode",
        "there is no room for the weights of one channel",
        "more steps than the caller allows",
    };
    return (uint32_t)status < sizeof texts / sizeof texts[0] ? texts[status] : "?";
}
