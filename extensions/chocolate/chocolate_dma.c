/* What the engine would do, in plain C: replace both functions by your own driver. It copies half of a transfer at
   once and the other half when it is waited for, so code that touches the memory in between is found out. */
#include "chocolate_dma.h"

#include <string.h>

#define QUEUE 2

static struct {
    uint8_t *to;
    const uint8_t *from;
    uint32_t bytes;
} transfers[QUEUE]; /* the oldest first */
static uint32_t pending;

/* Behind the engine's back the core's cache may hold old bytes of a buffer, or dirty ones that would be written over
   new ones later: lines are cleaned and dropped before a transfer and after it. Cores without a cache, or with one
   that is off, have nothing to do. */
static void drop_lines(const void *place, uint32_t bytes)
{
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH >= 7
    volatile const uint32_t *const configuration = (volatile const uint32_t *)0xE000ED14u;
    volatile uint32_t *const clean_and_drop = (volatile uint32_t *)0xE000EF70u;
    if ((*configuration & 1u << 16) != 0u) {
        __asm volatile("dsb" ::: "memory");
        for (uint32_t done = 0; done < bytes; done += CHOCOLATE_LINE_BYTES) {
            *clean_and_drop = (uint32_t)(uintptr_t)place + done;
        }
        __asm volatile("dsb\n\tisb" ::: "memory");
    }
#else
    (void)place;
    (void)bytes;
#endif
}

static void finish_oldest(void)
{
    const uint32_t half = transfers[0].bytes / 2u;
    memcpy(transfers[0].to + half, transfers[0].from + half, transfers[0].bytes - half);
    drop_lines(transfers[0].to, transfers[0].bytes);
    transfers[0] = transfers[1];
    --pending;
}

void chocolate_dma_begin(void *to, const void *from, uint32_t bytes)
{
    if (pending == QUEUE) {
        finish_oldest();
    }
    drop_lines(to, bytes);
    memcpy(to, from, bytes / 2u);
    transfers[pending].to = to;
    transfers[pending].from = from;
    transfers[pending].bytes = bytes;
    ++pending;
}

void chocolate_dma_wait(const void *to)
{
    for (uint32_t i = pending; i-- > 0u;) {
        if (transfers[i].to == to) {
            for (uint32_t done = 0; done <= i; ++done) {
                finish_oldest();
            }
            return;
        }
    }
}
