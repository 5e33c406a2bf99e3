/* For platforms without a timer to spare: the linker takes theirs where they have one. */
#include "solder_deadline.h"

__attribute__((weak)) int solder_port_deadline(uint32_t milliseconds)
{
    (void)milliseconds;
    return 0;
}
