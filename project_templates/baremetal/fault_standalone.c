/* A fault of the processor ends the program. */
#include "board.h"

#define STATUS_FAULT 70

void board_fault(const void *frame) __attribute__((used));

void board_fault(const void *frame)
{
    (void)frame; /* the stack of the moment of the fault: a Cortex-M left r0-r3, r12, lr, pc and psr there */
    board_exit(STATUS_FAULT);
}
