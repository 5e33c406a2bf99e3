/* How the program ends: through semihosting (Arm's "Semihosting for AArch32 and AArch64"), at which emulators exit
   with the status; and how it restarts. */
#include "board.h"
#include "solder_port.h"

#define AIRCR BOARD_REGISTER(0xE000ED0Cu)
#define AIRCR_RESET 0x05FA0004u /* the key, and SYSRESETREQ */

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

void solder_port_reset(void)
{
    __asm__ volatile("dsb" ::: "memory");
    AIRCR = AIRCR_RESET;
    for (;;) {
    }
}
