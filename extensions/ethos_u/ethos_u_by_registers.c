/* The NPU behind its registers: resets it, hands it a region's commands and memory, and waits until it is done.
 *
 * The interrupt is not needed: its flag is looked at in STATUS, and firmware leaves it disabled. */
#include "ethos_u_invoke.h"
#include "ethos_u_place.h"

#ifndef ETHOS_U_MOST_POLLS
#define ETHOS_U_MOST_POLLS 100000000 /* a deadline for a device that never finishes */
#endif
#ifndef ETHOS_U_QCONFIG
#define ETHOS_U_QCONFIG 2u /* the port and counter for commands: 0 and 1 are of AXI0, 2 and 3 of AXI1, which reads only */
#endif
#ifndef ETHOS_U_REGIONCFG
#define ETHOS_U_REGIONCFG 3u /* those of the regions, two bits for each: constants by AXI1, scratch by AXI0 */
#endif
#ifndef ETHOS_U_AXI_LIMIT
#define ETHOS_U_AXI_LIMIT 0x0F1F0000u /* for each counter: bursts of 64 bytes, 32 reads and 16 writes under way */
#endif

/* Registers, as words from the device's address. */
enum {
    STATUS = 1,
    CMD = 2,
    RESET = 3,
    QBASE = 4,
    QREAD = 6,
    QCONFIG = 7,
    QSIZE = 8,
    PROT = 9,
    CONFIG = 10,
    REGIONCFG = 15,
    AXI_LIMIT = 16,
    BASEP = 32
};

/* Bits of STATUS. */
#define IRQ_RAISED (1u << 1)
#define BUS_STATUS (1u << 2)
#define RESET_STATUS (1u << 3)
#define CMD_PARSE_ERROR (1u << 4)
#define CMD_END_REACHED (1u << 5)
#define WD_FAULT (1u << 7)
#define ECC_FAULT (1u << 8)
#define FAULTS (BUS_STATUS | CMD_PARSE_ERROR | WD_FAULT | ECC_FAULT)

/* Bits of CMD. */
#define RUN (1u << 0)
#define CLEAR_IRQ (1u << 1)
#define CLOCK_MAY_STOP (1u << 2)
#define POWER_MAY_STOP (1u << 3)

#define SAME_NPU 0xF000FF0Fu /* of CONFIG: the product, the shared RAM, the MACs in a cycle */

/* Emulators find the device's address here, and which device it is. */
extern const volatile uint32_t solder_device_ethos_u[2];
const volatile uint32_t solder_device_ethos_u[2] = { ETHOS_U_ADDRESS, ETHOS_U_CONFIG };

struct commands {
    const int8_t *first;
    uint32_t bytes, config;
};

static uint32_t word_at(const int8_t *place)
{
    const uint8_t *const p = (const uint8_t *)place;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Follows the actions that Vela writes before the commands: a configuration, and words that fill. */
static struct commands commands_of(const struct ethos_u_memory *memory)
{
    enum { FOURCC = 0x31504F43, CONFIGURE = 1, COMMANDS = 2 };
    const uint32_t bytes = (uint32_t)memory->commands_bytes;
    struct commands found = { 0, 0u, 0u };
    if (bytes < 8u || word_at(memory->commands) != FOURCC) {
        return found;
    }
    for (uint32_t at = 4u; at + 8u <= bytes; at += 4u) {
        const uint32_t word = word_at(memory->commands + at);
        if ((word & 0xFFu) == CONFIGURE) {
            found.config = word_at(memory->commands + at + 4);
            at += 8u;
        } else if ((word & 0xFFu) == COMMANDS) {
            const uint32_t words = (word >> 8 & 0xFFu) << 16 | word >> 16;
            if (words <= (bytes - at - 4u) / 4u) {
                found.first = memory->commands + at + 4;
                found.bytes = 4u * words;
            }
            return found;
        }
    }
    return found;
}

/* What the core's cache holds of the scratch goes to memory before, and is dropped behind the device's back. */
static void drop_lines(const void *place, uint32_t bytes)
{
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH >= 7
    enum { LINE_BYTES = 32 };
    volatile const uint32_t *const configuration = (volatile const uint32_t *)0xE000ED14u;
    volatile uint32_t *const clean_and_drop = (volatile uint32_t *)0xE000EF70u;
    const uint32_t first = (uint32_t)(uintptr_t)place & ~(uint32_t)(LINE_BYTES - 1);
    __asm volatile("dsb" ::: "memory");
    if ((*configuration & 1u << 16) != 0u) {
        for (uint32_t line = first; line < (uint32_t)(uintptr_t)place + bytes; line += LINE_BYTES) {
            *clean_and_drop = line;
        }
        __asm volatile("dsb\n\tisb" ::: "memory");
    }
#else
    (void)place;
    (void)bytes;
#endif
}

/* A reset keeps the levels of security and privilege that the chip gives the device. */
static int reset(volatile uint32_t *npu)
{
    npu[RESET] = npu[PROT];
    for (int32_t polls = 0; polls < ETHOS_U_MOST_POLLS; ++polls) {
        if ((npu[STATUS] & RESET_STATUS) == 0u) {
            return 1;
        }
    }
    return 0;
}

static void write_address(volatile uint32_t *low, const void *address)
{
    const uint64_t whole = (uint64_t)(uintptr_t)address;
    low[0] = (uint32_t)whole;
    low[1] = (uint32_t)(whole >> 32);
}

static void start(volatile uint32_t *npu, const struct commands *commands, const struct ethos_u_memory *memory)
{
    npu[QCONFIG] = ETHOS_U_QCONFIG;
    npu[REGIONCFG] = ETHOS_U_REGIONCFG;
    for (int32_t i = 0; i < 4; ++i) {
        npu[AXI_LIMIT + i] = ETHOS_U_AXI_LIMIT;
    }
    write_address(npu + QBASE, commands->first);
    npu[QSIZE] = commands->bytes;
    write_address(npu + BASEP, memory->constants);
    write_address(npu + BASEP + 2, memory->scratch);
    npu[CMD] = CLOCK_MAY_STOP | RUN;
}

static enum ethos_u_end end_of(uint32_t status)
{
    if ((status & BUS_STATUS) != 0u) {
        return ETHOS_U_BUS_ERROR;
    }
    if ((status & CMD_PARSE_ERROR) != 0u) {
        return ETHOS_U_COMMAND_ERROR;
    }
    if ((status & WD_FAULT) != 0u) {
        return ETHOS_U_WATCHDOG_FAULT;
    }
    if ((status & ECC_FAULT) != 0u) {
        return ETHOS_U_ECC_FAULT;
    }
    return (status & CMD_END_REACHED) != 0u ? ETHOS_U_ENDED : ETHOS_U_STOPPED_EARLY;
}

static struct ethos_u_stop waited_for(volatile uint32_t *npu)
{
    struct ethos_u_stop stop = { ETHOS_U_LATE, 0u, 0u };
    for (int32_t polls = 0; polls < ETHOS_U_MOST_POLLS; ++polls) {
        stop.status = npu[STATUS];
        if ((stop.status & (IRQ_RAISED | FAULTS)) != 0u) {
            stop.end = end_of(stop.status);
            break;
        }
    }
    stop.position = npu[QREAD];
    return stop;
}

struct ethos_u_stop ethos_u_execute(const struct ethos_u_memory *memory)
{
    volatile uint32_t *const npu = (volatile uint32_t *)(uintptr_t)solder_device_ethos_u[0];
    const struct commands commands = commands_of(memory);
    struct ethos_u_stop stop = { ETHOS_U_NO_COMMANDS, 0u, 0u };
    if (!commands.first) {
        return stop;
    }
    npu[CMD] = CLOCK_MAY_STOP; /* and power may not, from here on */
    if (!reset(npu)) {
        stop.end = ETHOS_U_NO_RESET;
    } else if (((npu[CONFIG] ^ commands.config) & SAME_NPU) != 0u) {
        stop.end = ETHOS_U_OTHER_NPU;
    } else {
        drop_lines(memory->scratch, (uint32_t)memory->scratch_bytes);
        start(npu, &commands, memory);
        stop = waited_for(npu);
        drop_lines(memory->scratch, (uint32_t)memory->scratch_bytes);
    }
    npu[CMD] = CLEAR_IRQ | CLOCK_MAY_STOP | POWER_MAY_STOP;
    return stop;
}
