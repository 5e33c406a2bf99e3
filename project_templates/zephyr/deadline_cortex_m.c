/* What a run may take: a kernel timer counts it, and its end is a fault of the thread that it interrupts. */
#include <zephyr/kernel.h>

#include "solder_deadline.h"
#include "solder_fault.h"
#include "solder_port.h"

/* What the processor pushed onto the thread's stack when it took the timer's interrupt. */
struct frame {
    uint32_t r0, r1, r2, r3, r12, lr, pc, psr;
};

static void on_end(struct k_timer *timer)
{
    const struct frame *frame;

    ARG_UNUSED(timer);
    __asm__ volatile("mrs %0, psp" : "=r"(frame));
    const struct solder_fault fault = {
        SOLDER_FAULT_WATCHDOG, frame->pc, frame->lr, (uint32_t)frame, frame->psr, 0, 0, 0};
    solder_fault_keep(&fault);
    solder_port_reset();
}

static K_TIMER_DEFINE(deadline, on_end, NULL);

int solder_port_deadline(uint32_t milliseconds)
{
    k_timer_stop(&deadline);
    if (milliseconds != 0) {
        k_timer_start(&deadline, K_MSEC(milliseconds), K_NO_WAIT);
    }
    return 1;
}
