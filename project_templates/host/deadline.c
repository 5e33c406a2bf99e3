/* What a run may take, in time that this process computes: waiting for its turn does not count.

   The timer runs by the clock on the wall, which is exact to a tenth of a millisecond; timers of computed time go by
   the system's tick, two of 4 ms late. Where the process has waited meanwhile, the timer is set again. */
#define _XOPEN_SOURCE 700
#include "solder_deadline.h"

#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "host.h"

static volatile int64_t end_us; /* by computed_us() */

static int64_t computed_us(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int strike_in(int64_t microseconds)
{
    struct itimerval once = {{0, 0}, {0, 0}};

    once.it_value.tv_sec = (time_t)(microseconds / 1000000);
    once.it_value.tv_usec = (suseconds_t)(microseconds % 1000000);
    return setitimer(ITIMER_REAL, &once, NULL) == 0;
}

int solder_port_deadline(uint32_t milliseconds)
{
    (void)strike_in(0); /* the last one, before what it compares with is another */
    end_us = computed_us() + (int64_t)milliseconds * 1000;
    return strike_in((int64_t)milliseconds * 1000);
}

int host_deadline_passed(void)
{
    const int64_t left_us = end_us - computed_us();

    return left_us <= 0 || !strike_in(left_us);
}
