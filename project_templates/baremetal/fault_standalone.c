/* A fault of the processor ends the program. */
#include "board.h"

#define STATUS_FAULT 70

void board_fault(const void *frame);

void board_fault(const void *frame)
{
    (void)frame; /* in a debugger: r0-r3, r12, lr, pc, psr of the moment of the fault */
    board_exit(STATUS_FAULT);
}
