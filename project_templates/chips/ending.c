/* A program on a board does not end: if main returns, it sleeps; it can also restart. */
#include "board.h"
#include "solder_port.h"

#define AIRCR BOARD_REGISTER(0xE000ED0Cu)
#define AIRCR_RESET 0x05FA0004u /* the key, and SYSRESETREQ */

void board_exit(int32_t status)
{
    (void)status;
    for (;;) {
        __asm__ volatile("wfi");
    }
}

void solder_port_reset(void)
{
    __asm__ volatile("dsb" ::: "memory");
    AIRCR = AIRCR_RESET;
    for (;;) {
    }
}
