/* What a run may take, in time that this process computes: waiting for its turn does not count. */
#define _XOPEN_SOURCE 600
#include "solder_deadline.h"

#include <stddef.h>
#include <sys/time.h>

int solder_port_deadline(uint32_t milliseconds)
{
    struct itimerval once = {{0, 0}, {0, 0}};

    once.it_value.tv_sec = (time_t)(milliseconds / 1000u);
    once.it_value.tv_usec = (suseconds_t)(milliseconds % 1000u * 1000u);
    return setitimer(ITIMER_VIRTUAL, &once, NULL) == 0;
}
