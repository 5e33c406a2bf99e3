/* What a run may take: the core-local interruptor's timer counts it, and its interrupt is a fault. */
#include "solder_deadline.h"

#include "board.h"
#include "solder_port.h"

/* The timer is the board's counter, and at this place the comparator of core 0. */
#define MTIME_LOW BOARD_REGISTER(BOARD_COUNTER_ADDRESS)
#define MTIME_HIGH BOARD_REGISTER(BOARD_COUNTER_ADDRESS + 4u)
#define MTIMECMP_LOW BOARD_REGISTER(BOARD_COUNTER_ADDRESS - 0xBFF8u + 0x4000u)
#define MTIMECMP_HIGH BOARD_REGISTER(BOARD_COUNTER_ADDRESS - 0xBFF8u + 0x4004u)
#define MIE_TIMER (1u << 7)
#define MSTATUS_MIE (1u << 3)

/* The lower half wraps between two readings of the upper one at most. */
static uint64_t mtime(void)
{
    const uint32_t high = MTIME_HIGH;
    const uint32_t low = MTIME_LOW;

    return (uint64_t)(MTIME_HIGH == high || low > 0x7FFFFFFFu ? high : high + 1u) << 32 | low;
}

uint32_t solder_port_milliseconds(void)
{
    return (uint32_t)(mtime() / (BOARD_COUNTER_HZ / 1000u));
}

int solder_port_deadline(uint32_t milliseconds)
{
    __asm__ volatile("csrc mie, %0" : : "r"(MIE_TIMER) : "memory");
    if (milliseconds != 0) {
        const uint64_t end = mtime() + (uint64_t)milliseconds * (BOARD_COUNTER_HZ / 1000u);

        MTIMECMP_HIGH = 0xFFFFFFFFu; /* not due while it is half written */
        MTIMECMP_LOW = (uint32_t)end;
        MTIMECMP_HIGH = (uint32_t)(end >> 32);
        __asm__ volatile("csrs mie, %0\n"
                         "csrs mstatus, %1\n"
                         :
                         : "r"(MIE_TIMER), "r"(MSTATUS_MIE)
                         : "memory");
    }
    return 1;
}
