/* The second core of an SSE-200: how it is started, handed the half of a step, and waited for.

   A core that waits sleeps until the other one rings, by the subsystem's message handling unit. Its interrupt is
   only enabled while interrupts are masked: it ends the sleep and needs no handler. */
#include "second_core.h"

#include "board.h"
#include "solder_cores.h"

/* Arm DAI 0521 and the SSE-200's manual, by their secure addresses. */
#define INITSVTOR1 BOARD_REGISTER(0x50021114u) /* the second core's vectors */
#define CPUWAIT BOARD_REGISTER(0x50021118u)
#define CPUWAIT_SECOND 2u
#define MHU_FIRST 0x50003000u
#define MHU_SECOND 0x50003010u
#define RING(core) BOARD_REGISTER((core) + 4u)
#define RUNG(core) BOARD_REGISTER((core) + 8u)

#define NVIC_ISER BOARD_REGISTER(0xE000E100u)
#define NVIC_ICER BOARD_REGISTER(0xE000E180u)
#define NVIC_ICPR BOARD_REGISTER(0xE000E280u)
#define MHU_INTERRUPT (1u << 6)

void Fault_Handler(void); /* startup.c */

enum { OFF, READY, GIVEN, DONE };

static volatile uint32_t state;

static struct {
    solder_half *step;
    const void *context;
    uint32_t row;
} given;

static void ring(uint32_t core, uint32_t news)
{
    __asm__ volatile("dmb" ::: "memory");
    state = news;
    __asm__ volatile("dmb" ::: "memory");
    RING(core) = 1;
}

/* A ring that comes before the sleep ends it at once: nothing is missed. */
static void sleep(uint32_t me)
{
    NVIC_ISER = MHU_INTERRUPT;
    __asm__ volatile("dsb\n wfi" ::: "memory");
    NVIC_ICER = MHU_INTERRUPT;
    RUNG(me) = 1;
    NVIC_ICPR = MHU_INTERRUPT;
}

static void compute_halves(void)
{
    __asm__ volatile("cpsid i\n msr msplim, %0" : : "r"(board_second_stack_low) : "memory");
    ring(MHU_FIRST, READY);
    for (;;) {
        while (state != GIVEN) {
            sleep(MHU_SECOND);
        }
        __asm__ volatile("dmb" ::: "memory");
        given.step(given.context, given.row, 1);
        ring(MHU_FIRST, DONE);
    }
}

static const union {
    uint32_t *stack;
    void (*handler)(void);
} vectors[16] __attribute__((aligned(128))) = {
    {.stack = board_second_stack_high},
    {.handler = compute_halves},
    [2 ... 15] = {.handler = Fault_Handler},
};

static void wait_for(uint32_t news)
{
    while (state != news) {
        __asm__ volatile("cpsid i" ::: "memory");
        if (state != news) {
            sleep(MHU_FIRST);
        }
        __asm__ volatile("cpsie i" ::: "memory"); /* the timer of a deadline may have ended the sleep */
    }
    __asm__ volatile("dmb" ::: "memory");
}

static void start(void)
{
    INITSVTOR1 = (uint32_t)vectors;
    CPUWAIT &= ~CPUWAIT_SECOND;
    wait_for(READY);
}

static void give(solder_half *step, const void *context, uint32_t row)
{
    given.step = step;
    given.context = context;
    given.row = row;
    ring(MHU_SECOND, GIVEN);
}

#ifdef BOARD_CORES_IN_TURN
uint32_t board_hidden_ticks;

void solder_on_both_cores(solder_half *step, const void *context, uint32_t row)
{
    if (state == OFF) {
        start();
    }
    give(step, context, row);
    const uint32_t began = BOARD_REGISTER(BOARD_COUNTER_ADDRESS);
    wait_for(DONE);
    const uint32_t turned = BOARD_REGISTER(BOARD_COUNTER_ADDRESS);
    step(context, row, 0);
    const uint32_t others = turned - began, own = BOARD_REGISTER(BOARD_COUNTER_ADDRESS) - turned;
    board_hidden_ticks += others < own ? others : own;
}
#else
void solder_on_both_cores(solder_half *step, const void *context, uint32_t row)
{
    if (state == OFF) {
        start();
    }
    give(step, context, row);
    step(context, row, 0);
    wait_for(DONE);
}
#endif
