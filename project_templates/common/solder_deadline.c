/* For platforms without a spare timer: the linker prefers the platform's own, if it has one. */
#include "solder_deadline.h"

__attribute__((weak)) int solder_port_deadline(uint32_t milliseconds)
{
    (void)milliseconds;
    return 0;
}
