/* Code loaded over the line: its memory, and cache maintenance. */
#include "solder_slot.h"

#include "board.h"

#define CLIDR BOARD_REGISTER(0xE000ED78u) /* 0: no caches, or a processor that cannot have any */
#define CTR BOARD_REGISTER(0xE000ED7Cu)
#define ICIALLU BOARD_REGISTER(0xE000EF50u)
#define DCCMVAU BOARD_REGISTER(0xE000EF64u)

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
