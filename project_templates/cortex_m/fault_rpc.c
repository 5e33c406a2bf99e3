/* A fault of the processor: its cause and registers go into the record that survives the reset. */
#include "board.h"
#include "last_call.h"
#include "solder_fault.h"
#include "solder_port.h"
#ifdef SOLDER_TWO_CORES
#include "second_core.h"
#define ON_SECOND_STACK(sp) ((sp) > (uint32_t)board_second_stack_low && \
                          (sp) + sizeof(struct frame) <= (uint32_t)board_second_stack_high)
#else
#define ON_SECOND_STACK(sp) 0
#endif

#define CFSR BOARD_REGISTER(0xE000ED28u)
#define HFSR BOARD_REGISTER(0xE000ED2Cu)
#define MMFAR BOARD_REGISTER(0xE000ED34u)
#define BFAR BOARD_REGISTER(0xE000ED38u)

#define ICSR BOARD_REGISTER(0xE000ED04u)

#define ICSR_ACTIVE 0x1FFu
#define SYSTICK 15u
#define CFSR_MEMORY 0x000000FFu
#define CFSR_BUS 0x0000FF00u
#define CFSR_USAGE 0xFFFF0000u
#define CFSR_MMFAR_VALID (1u << 7)
#define CFSR_BFAR_VALID (1u << 15)
#define CFSR_STACKING ((1u << 4) | (1u << 12) | (1u << 20)) /* a frame did not fit: MSTKERR, STKERR, STKOF */

/* What the processor pushes when it takes an exception. */
struct frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, psr;
};

void board_fault(const struct frame *frame) __attribute__((used));

static uint32_t cause_of(uint32_t cfsr, uint32_t address, int frame_is_whole)
{
    const uint32_t low = (uint32_t)board_stack_low;
    const int just_below_stack = address < low && low - address <= BOARD_GUARD_BYTES;

    if ((ICSR & ICSR_ACTIVE) == SYSTICK) {
        return SOLDER_FAULT_WATCHDOG;
    }
    if ((cfsr & CFSR_STACKING) != 0 || !frame_is_whole || (address != 0 && just_below_stack)) {
        return SOLDER_FAULT_STACK;
    }
    if ((cfsr & CFSR_MEMORY) != 0) {
        return SOLDER_FAULT_MEMORY;
    }
    if ((cfsr & CFSR_BUS) != 0) {
        return SOLDER_FAULT_BUS;
    }
    return (cfsr & CFSR_USAGE) != 0 ? SOLDER_FAULT_USAGE : SOLDER_FAULT_HARD;
}

static uint32_t faulting_address(uint32_t cfsr)
{
    if ((cfsr & CFSR_MMFAR_VALID) != 0) {
        return MMFAR;
    }
    return (cfsr & CFSR_BFAR_VALID) != 0 ? BFAR : 0;
}

void board_fault(const struct frame *frame)
{
    const uint32_t sp = (uint32_t)frame;
    /* A processor with a stack limit leaves the pointer at the limit if the frame does not fit. */
    const int whole = (sp > (uint32_t)board_stack_low && sp + sizeof *frame <= (uint32_t)board_stack_high) ||
                      ON_SECOND_STACK(sp);
    struct solder_fault fault = {0, 0, 0, sp, 0, CFSR, HFSR, 0};

    fault.address = faulting_address(fault.cfsr);
    fault.cause = cause_of(fault.cfsr, fault.address, whole);
    if (whole) { /* else the processor could not save them */
        fault.pc = frame->pc;
        fault.lr = frame->lr;
        fault.psr = frame->psr;
    } else {
        fault.lr = last_call(board_stack_low, board_stack_high, (uint32_t)board_text_low, (uint32_t)board_text_high);
    }
    solder_fault_keep(&fault);
    solder_port_reset();
}
