/* Ends the program through semihosting (Arm's "Semihosting for AArch32 and AArch64"): emulators exit with the status. */
#include "board.h"

#define SYS_EXIT_EXTENDED 0x20u
#define APPLICATION_EXIT 0x20026u

void board_exit(int32_t status)
{
    const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};

    __asm__ volatile("mov r0, %0\n"
                     "mov r1, %1\n"
                     "bkpt 0xAB\n"
                     :
                     : "r"(SYS_EXIT_EXTENDED), "r"(block)
                     : "r0", "r1", "memory");
    for (;;) {
    }
}
