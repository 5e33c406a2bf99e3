/* What may be loaded into the slot: a kernel, and what goes wrong with kernels. */
#include <stdint.h>

#ifndef FACTOR
#define FACTOR 2
#endif

struct task {
    const int8_t *x;
    int8_t *y;
    uint32_t count;
    uint32_t *where; /* for strays */
};

int32_t multiplies(void *argument)
{
    const struct task *task = argument;
    for (uint32_t i = 0; i < task->count; i++) {
        task->y[i] = (int8_t)(FACTOR * task->x[i]);
    }
    return 0;
}

int32_t fails(void *argument)
{
    (void)argument;
    return -7;
}

int32_t crashes(void *argument)
{
    (void)argument;
    *(volatile uint32_t *)0xF0000000u = 1;
    return 0;
}

int32_t traps(void *argument)
{
    (void)argument;
#ifdef __riscv
    __asm__ volatile("unimp"); /* gcc calls abort() instead */
#endif
    __builtin_trap();
}

static uint32_t deep(uint32_t n)
{
    volatile uint32_t row[50];
    row[n & 7u] = n;
    return deep(n + 1u) + row[0];
}

int32_t overflows(void *argument)
{
    (void)argument;
    return (int32_t)deep(0);
}

int32_t hangs(void *argument)
{
    (void)argument;
    for (;;) {
        __asm__ volatile("");
    }
}

int32_t strays(void *argument)
{
    const struct task *task = argument;
    *task->where += 1u;
    return 0;
}

int32_t destroys_itself(void *argument)
{
    (void)argument;
    *(volatile uint32_t *)((uintptr_t)multiplies & ~(uintptr_t)3) += 1u;
    return 0;
}

int32_t takes_its_time(void *argument)
{
    const struct task *task = argument;
    for (uint32_t i = 0; i < task->count; i++) {
        __asm__ volatile("");
    }
    return 0;
}
