/* From power on to main, and from a trap to board_fault: what must happen before C runs. */
#include <stdint.h>

#include "board.h"

int main(void);
void Reset_Handler(void);
void board_start(void) __attribute__((used)); /* only assembly names these two */
void board_trap(void) __attribute__((used));

/* Its own small stack: the trap may be that the other one is full. */
uint32_t board_fault_stack[64] __attribute__((used, section(".noinit"), aligned(16)));

/* Comes first in memory, where this processor starts. */
__attribute__((naked, section(".vectors"))) void Reset_Handler(void)
{
    __asm__ volatile("la sp, board_stack_high\n"
                     "la t0, board_trap\n"
                     "csrw mtvec, t0\n"
                     "j board_start\n");
}

/* A stack that grows too far must trap at once: the memory below it is the program. The rule is locked: it binds
   machine mode too, until the next reset. */
static void guard_stack(void)
{
    if (BOARD_GUARD_BYTES != 0) {
        const uint32_t low = (uint32_t)board_stack_low - BOARD_GUARD_BYTES;

        __asm__ volatile("csrw pmpaddr0, %0\n"
                         "csrw pmpcfg0, %1\n"
                         :
                         : "r"(low >> 2 | (BOARD_GUARD_BYTES / 8u - 1u)), "r"(0x98) /* locked, NAPOT, no access */
                         : "memory");
    }
}

#ifdef __riscv_vector
/* Vector instructions trap until mstatus.VS enables their registers. */
static void switch_on_vectors(void)
{
    __asm__ volatile("csrs mstatus, %0" : : "r"(1u << 9));
}
#endif

static void fill_memory(void)
{
    for (const struct board_copy *copy = board_copies_low; copy < board_copies_high; copy++) {
        const uint32_t *from = copy->from;
        for (uint32_t *to = copy->low; to < copy->high; to++) {
            *to = *from++;
        }
    }
    for (const struct board_zeros *zeros = board_zeros_low; zeros < board_zeros_high; zeros++) {
        for (uint32_t *to = zeros->low; to < zeros->high; to++) {
            *to = 0;
        }
    }
}

void board_start(void)
{
#ifdef __riscv_vector
    switch_on_vectors();
#endif
    fill_memory();
    guard_stack();
    board_init();
    board_exit(main());
}

/* Hands the stack pointer and the return address of the moment of the trap to board_fault, on a stack that works. */
__attribute__((naked, aligned(4))) void board_trap(void)
{
    __asm__ volatile("mv a0, sp\n"
                     "mv a1, ra\n"
                     "la sp, board_fault_stack + 256\n"
                     "j board_fault\n");
}
