/* Code loaded over the line: where it goes, what caches must be told, and the deadline it has. */
#include "solder_slot.h"

#include "board.h"
#include "solder_fault.h"

#define CLIDR BOARD_REGISTER(0xE000ED78u) /* 0: no caches, or a processor that cannot have any */
#define CTR BOARD_REGISTER(0xE000ED7Cu)
#define ICIALLU BOARD_REGISTER(0xE000EF50u)
#define DCCMVAU BOARD_REGISTER(0xE000EF64u)

#define SYST_CSR BOARD_REGISTER(0xE000E010u)
#define SYST_RVR BOARD_REGISTER(0xE000E014u)
#define SYST_CVR BOARD_REGISTER(0xE000E018u)
#define SYST_RUN 7u /* enabled, with its exception, at the processor's clock */
#define SYST_MOST 0xFFFFFFu
#define TICKS_PER_MS (BOARD_CLOCK_HZ / 1000u)
#define PERIOD_MS (SYST_MOST / TICKS_PER_MS)

/* Outside the watched variables: it counts while loaded code runs. */
SOLDER_NOINIT uint32_t board_periods_left;

struct solder_slot solder_port_slot(void)
{
    const uint32_t low = (uint32_t)board_slot_low;
    const uint32_t high = (uint32_t)board_slot_high;
    const struct solder_slot slot = {
        (uint8_t *)board_slot_low, high > low ? high - low : 0, board_data_low, board_slot_low};
    return slot;
}

void solder_port_sync_code(const uint8_t *code, uint32_t bytes)
{
    if (CLIDR != 0) {
        const uint32_t line = 4u << ((CTR >> 16) & 15u);
        __asm__ volatile("dsb" ::: "memory");
        for (uint32_t at = 0; at < bytes; at += line) {
            DCCMVAU = (uint32_t)(code + at);
        }
        __asm__ volatile("dsb" ::: "memory");
        ICIALLU = 0;
    }
    __asm__ volatile("dsb\n isb" ::: "memory");
}

void solder_port_deadline(uint32_t milliseconds)
{
    const uint32_t period_ms = milliseconds < PERIOD_MS ? milliseconds : PERIOD_MS;

    SYST_CSR = 0;
    if (milliseconds != 0) {
        board_periods_left = (milliseconds + period_ms - 1u) / period_ms;
        SYST_RVR = period_ms * TICKS_PER_MS;
        SYST_CVR = 0;
        SYST_CSR = SYST_RUN;
    }
}

/* The last period's end is a fault. */
__attribute__((naked)) void SysTick_Handler(void)
{
    __asm__ volatile(".syntax unified\n"
                     "ldr r0, 1f\n"
                     "ldr r1, [r0]\n"
                     "subs r1, #1\n"
                     "str r1, [r0]\n"
                     "beq 2f\n"
                     "bx lr\n"
                     "2: b Fault_Handler\n"
                     ".balign 4\n"
                     "1: .word board_periods_left\n");
}
