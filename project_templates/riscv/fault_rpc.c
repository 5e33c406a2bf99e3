/* A trap of the processor: its cause and registers go into the record that survives the reset. */
#include "board.h"
#include "solder_fault.h"
#include "solder_port.h"

#define INTERRUPT 0x80000000u

void board_fault(uint32_t sp, uint32_t ra) __attribute__((used));

/* By the exception's number in mcause. */
static const uint8_t causes[] = {
    SOLDER_FAULT_BUS,   /* fetch, misaligned */
    SOLDER_FAULT_BUS,   /* fetch, no access */
    SOLDER_FAULT_USAGE, /* no instruction */
    SOLDER_FAULT_USAGE, /* breakpoint */
    SOLDER_FAULT_BUS,   /* load, misaligned */
    SOLDER_FAULT_BUS,   /* load, no access */
    SOLDER_FAULT_BUS,   /* store, misaligned */
    SOLDER_FAULT_BUS,   /* store, no access */
};

static uint32_t cause_of(uint32_t mcause, uint32_t address)
{
    const uint32_t low = (uint32_t)board_stack_low;

    if ((mcause & INTERRUPT) != 0) {
        return SOLDER_FAULT_WATCHDOG; /* the deadline's timer is the only one switched on */
    }
    if (address < low && low - address <= BOARD_GUARD_BYTES) {
        return SOLDER_FAULT_STACK;
    }
    return mcause < sizeof causes ? causes[mcause] : SOLDER_FAULT_HARD;
}

void board_fault(uint32_t sp, uint32_t ra)
{
    struct solder_fault fault = {0, 0, ra, sp, 0, 0, 0, 0};

    __asm__ volatile("csrr %0, mepc" : "=r"(fault.pc));
    __asm__ volatile("csrr %0, mstatus" : "=r"(fault.psr));
    __asm__ volatile("csrr %0, mcause" : "=r"(fault.cfsr));
    __asm__ volatile("csrr %0, mtval" : "=r"(fault.address));
    fault.cause = cause_of(fault.cfsr, fault.address);
    solder_fault_keep(&fault);
    solder_port_reset();
}
