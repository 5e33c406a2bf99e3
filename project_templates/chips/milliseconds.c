/* SysTick counts time, and wakes a processor that sleeps. */
#include "milliseconds.h"

#include "board.h"

#define STEP_MS 10u
#define SYST_CSR BOARD_REGISTER(0xE000E010u)
#define SYST_RVR BOARD_REGISTER(0xE000E014u)
#define SYST_CVR BOARD_REGISTER(0xE000E018u)
#define SYST_RUN 7u /* enabled, with its exception, at the processor's clock */

static volatile uint32_t milliseconds;

void SysTick_Handler(void);

void SysTick_Handler(void)
{
    milliseconds += STEP_MS;
}

uint32_t board_milliseconds(void)
{
    if ((SYST_CSR & SYST_RUN) != SYST_RUN) {
        SYST_RVR = BOARD_CLOCK_HZ / 1000u * STEP_MS - 1u;
        SYST_CVR = 0;
        SYST_CSR = SYST_RUN;
    }
    return milliseconds;
}
