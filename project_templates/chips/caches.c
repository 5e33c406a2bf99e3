/* A Cortex-M7 comes up with its caches off: flash would be waited for at every turn of a loop. */
#include "board.h"

#define CLIDR BOARD_REGISTER(0xE000ED78u) /* 0: this chip has no caches */
#define CCSIDR BOARD_REGISTER(0xE000ED80u)
#define CSSELR BOARD_REGISTER(0xE000ED84u)
#define CCR BOARD_REGISTER(0xE000ED14u)
#define CCR_DATA (1u << 16)
#define CCR_CODE (1u << 17)
#define ICIALLU BOARD_REGISTER(0xE000EF50u)
#define DCISW BOARD_REGISTER(0xE000EF60u)
#define LINE_SHIFT 5u
#define WAY_SHIFT 30u

void caches_init(void);

/* Forgets what the data cache came up with, line by line: each of the four ways. */
static void forget_data(void)
{
    uint32_t sets;

    CSSELR = 0;
    __asm__ volatile("dsb" ::: "memory");
    sets = ((CCSIDR >> 13) & 0x7FFFu) + 1u;
    for (uint32_t set = 0; set < sets; set++) {
        for (uint32_t way = 0; way < 4u; way++) {
            DCISW = way << WAY_SHIFT | set << LINE_SHIFT;
        }
    }
}

void caches_init(void)
{
    if (CLIDR == 0 || (CCR & CCR_DATA) != 0) {
        return;
    }
    __asm__ volatile("dsb\n isb" ::: "memory");
    ICIALLU = 0;
    forget_data();
    __asm__ volatile("dsb\n isb" ::: "memory");
    CCR |= CCR_CODE | CCR_DATA;
    __asm__ volatile("dsb\n isb" ::: "memory");
}
