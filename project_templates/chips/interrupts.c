/* The device's interrupts, by their numbers in its reference manual. Define board_interrupt in your own file.

   void board_interrupt(uint32_t number)
   {
       if (number == 38) { ... }
   } */
#include "board.h"

#define NVIC_OFF(number) BOARD_REGISTER(0xE000E180u + 4u * ((number) / 32u))
#define FIRST 16u /* exceptions of the core's own come before them */

void board_interrupt(uint32_t number);
void Interrupt_Handler(void);

/* Disables an interrupt without a handler: it would repeat forever. */
__attribute__((weak)) void board_interrupt(uint32_t number)
{
    NVIC_OFF(number) = 1u << (number % 32u);
}

void Interrupt_Handler(void)
{
    uint32_t exception;

    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    board_interrupt(exception - FIRST);
}
