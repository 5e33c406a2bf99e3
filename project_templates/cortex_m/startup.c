/* From power on to main, and from a fault to board_fault: the vector table and what must happen before C runs. */
#include "board.h"

#define CPACR BOARD_REGISTER(0xE000ED88u)
#define CPACR_REGISTERS (0xFu << 20) /* of an FPU; integer vectors use them, too, even without an FPU */
#define MPU_TYPE BOARD_REGISTER(0xE000ED90u)
#define MPU_CTRL BOARD_REGISTER(0xE000ED94u)
#define MPU_CTRL_ENABLE 1u
#define MPU_CTRL_REST_AS_BEFORE 4u
#define MPU_RBAR BOARD_REGISTER(0xE000ED9Cu)
#define MPU_RBAR_VALID 0x10u /* and the region's number, 0, in the bits below */
#define MPU_RASR BOARD_REGISTER(0xE000EDA0u)
#define MPU_RASR_NO_ACCESS (1u << 28) /* nor execution; no permission bits set */
#define MPU_RASR_SIZE (BOARD_GUARD_SIZE << 1)
#define MPU_RASR_ENABLE 1u

int main(void);
void Reset_Handler(void);
void Fault_Handler(void);
void SysTick_Handler(void) __attribute__((weak, alias("Fault_Handler"))); /* deadline.c has one */
#ifdef BOARD_INTERRUPTS
void Interrupt_Handler(void); /* interrupts.c */
#define VTOR BOARD_REGISTER(0xE000ED08u)
#define VECTORS (16u + BOARD_INTERRUPTS)
#define VECTORS_ALIGN (BOARD_INTERRUPTS > 112u ? 1024 : BOARD_INTERRUPTS > 48u ? 512 : 256) /* bytes, a power of two */
#else
#define VECTORS 16u
#define VECTORS_ALIGN 4
#endif

/* Its own small stack: the fault may be that the other one is full. Only assembly names it, as it does board_fault. */
uint32_t board_fault_stack[64] __attribute__((used, section(".noinit"), aligned(8)));

union vector {
    uint32_t *stack;
    void (*handler)(void);
};

static const union vector vectors[VECTORS] __attribute__((used, section(".vectors"), aligned(VECTORS_ALIGN))) = {
    {.stack = board_stack_high},
    {.handler = Reset_Handler},
    {.handler = Fault_Handler}, /* NMI */
    {.handler = Fault_Handler}, /* HardFault */
    {.handler = Fault_Handler}, /* MemManage */
    {.handler = Fault_Handler}, /* BusFault */
    {.handler = Fault_Handler}, /* UsageFault */
    {.handler = Fault_Handler}, /* SecureFault */
    {.handler = 0},
    {.handler = 0},
    {.handler = 0},
    {.handler = Fault_Handler}, /* SVCall */
    {.handler = Fault_Handler}, /* DebugMonitor */
    {.handler = 0},
    {.handler = Fault_Handler}, /* PendSV */
    {.handler = SysTick_Handler},
#ifdef BOARD_INTERRUPTS
    [16u ... VECTORS - 1u] = {.handler = Interrupt_Handler},
#endif
};

/* A stack that grows too far must fault at once: not every bus rejects addresses below the memory. */
#if __ARM_ARCH >= 8
static void guard_stack(void)
{
    __asm__ volatile("msr msplim, %0" : : "r"(board_stack_low));
}
#else
static void guard_stack(void)
{
    if (MPU_TYPE != 0 && BOARD_GUARD_BYTES != 0) {
        MPU_RBAR = ((uint32_t)board_stack_low - BOARD_GUARD_BYTES) | MPU_RBAR_VALID;
        MPU_RASR = MPU_RASR_NO_ACCESS | MPU_RASR_SIZE | MPU_RASR_ENABLE;
        MPU_CTRL = MPU_CTRL_ENABLE | MPU_CTRL_REST_AS_BEFORE;
        __asm__ volatile("dsb\n isb" ::: "memory");
    }
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

void Reset_Handler(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    CPACR |= CPACR_REGISTERS;
    __asm__ volatile("dsb\n isb" ::: "memory");
#endif
#ifdef BOARD_INTERRUPTS
    VTOR = (uint32_t)vectors; /* a loader may have left its own */
#endif
    fill_memory();
    guard_stack();
    board_init();
    board_exit(main());
}

/* Hands the stack pointer of the moment of the fault to board_fault (fault.c), on a stack that works. */
__attribute__((naked, used)) void Fault_Handler(void)
{
    __asm__ volatile("mrs r0, msp\n"
                     "ldr r1, 1f\n"
                     "msr msp, r1\n"
                     "ldr r1, 2f\n"
                     "bx r1\n"
                     ".balign 4\n"
                     "1: .word board_fault_stack + 256\n"
                     "2: .word board_fault\n");
}
