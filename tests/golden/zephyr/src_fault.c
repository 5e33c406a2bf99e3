/* A fatal error: its cause and place go into the record that survives the reset. */
#include <zephyr/fatal.h>
#include <zephyr/kernel.h>

#include "solder_fault.h"
#include "solder_port.h"

static uint32_t cause_of(unsigned int reason)
{
    switch (reason) {
    case K_ERR_STACK_CHK_FAIL:
        return SOLDER_FAULT_STACK;
    case K_ERR_KERNEL_OOPS:
    case K_ERR_KERNEL_PANIC:
        return SOLDER_FAULT_ABORT;
    default:
        return SOLDER_FAULT_HARD;
    }
}

void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *frame)
{
    struct solder_fault fault = {cause_of(reason), 0, 0, 0, 0, 0, 0, 0};

    if (frame != NULL) {
        fault.pc = frame->basic.pc;
        fault.lr = frame->basic.lr;
        fault.psr = frame->basic.xpsr;
    }
    fault.cfsr = *(volatile uint32_t *)0xE000ED28u;
    fault.hfsr = *(volatile uint32_t *)0xE000ED2Cu;
    solder_fault_keep(&fault);
    solder_port_reset();
}
