/* What a run may take: SysTick counts it, and its last period's end is a fault. */
#include "solder_deadline.h"

#include "board.h"
#include "solder_fault.h"
#include "solder_port.h"

#define SYST_CSR BOARD_REGISTER(0xE000E010u)
#define SYST_RVR BOARD_REGISTER(0xE000E014u)
#define SYST_CVR BOARD_REGISTER(0xE000E018u)
#define SYST_RUN 7u /* enabled, with its exception, at the processor's clock */
#define SYST_MOST 0xFFFFFFu
#define TICKS_PER_MS (BOARD_CLOCK_HZ / 1000u)
#define PERIOD_MS (SYST_MOST / TICKS_PER_MS)

/* Outside the variables that are watched while loaded code runs: they count then. Written by SysTick_Handler, whose
   assembly is all that names it as far as link-time optimization sees. */
SOLDER_NOINIT __attribute__((used)) volatile uint32_t board_periods_left;

static SOLDER_NOINIT uint32_t periods; /* at the beginning */

void SysTick_Handler(void);

int solder_port_deadline(uint32_t milliseconds)
{
    const uint32_t period_ms = milliseconds < PERIOD_MS ? milliseconds : PERIOD_MS;

    SYST_CSR = 0;
    if (milliseconds != 0) {
        periods = milliseconds / period_ms + (milliseconds % period_ms != 0);
        board_periods_left = periods;
        SYST_RVR = period_ms * TICKS_PER_MS;
        SYST_CVR = 0;
        SYST_CSR = SYST_RUN;
    }
    return 1;
}

/* Behind by up to a period. */
uint32_t solder_port_milliseconds(void)
{
    return (periods - board_periods_left) * PERIOD_MS;
}

/* Seven instructions every PERIOD_MS, measured with the model. */
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
