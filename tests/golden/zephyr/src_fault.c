/* A fatal error: its cause and place go into the record that survives the reset. */
#include <zephyr/fatal.h>
#include <zephyr/kernel.h>
#include <zephyr/linker/linker-defs.h>

#include "last_call.h"
#include "solder_fault.h"
#include "solder_port.h"

static int is_code(uint32_t address)
{
    return address >= (uint32_t)__text_region_start && address < (uint32_t)__text_region_end;
}

static uint32_t call_on_stack(void)
{
    const struct solder_stack stack = solder_port_stack();

    return last_call(stack.low, stack.low + stack.bytes / sizeof *stack.low, (uint32_t)__text_region_start,
                     (uint32_t)__text_region_end);
}

static uint32_t cause_of(unsigned int reason)
{
    switch (reason) {
    case K_ERR_STACK_CHK_FAIL:
        return SOLDER_FAULT_STACK;
    case K_ERR_KERNEL_OOPS:
    case K_ERR_KERNEL_PANIC:
        return SOLDER_FAULT_ABORT;
    case K_ERR_ARM_MEM_GENERIC ... K_ERR_ARM_MEM_FP_LAZY_STATE_PRESERVATION:
        return SOLDER_FAULT_MEMORY;
    case K_ERR_ARM_BUS_GENERIC ... K_ERR_ARM_BUS_FP_LAZY_STATE_PRESERVATION:
        return SOLDER_FAULT_BUS;
    case K_ERR_ARM_USAGE_GENERIC ... K_ERR_ARM_USAGE_UNDEFINED_INSTRUCTION:
        return SOLDER_FAULT_USAGE;
    default:
        return SOLDER_FAULT_HARD;
    }
}

void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *frame)
{
    struct solder_fault fault = {cause_of(reason), 0, 0, 0, 0, 0, 0, 0};

    if (frame != NULL && is_code(frame->basic.pc)) {
        fault.pc = frame->basic.pc;
        fault.lr = frame->basic.lr;
        fault.psr = frame->basic.xpsr;
    } else if (reason == K_ERR_STACK_CHK_FAIL) {
        fault.lr = call_on_stack();
    }
    solder_fault_keep(&fault);
    solder_port_reset();
}
