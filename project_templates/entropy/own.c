/* Random numbers for the line's lock: fill this in with the chip's generator. Without them, someone who has
   recorded a session could open the line after a power cycle, so there is no firmware with a key before. A chip without
   a generator counts its starts in flash, and gives that number: no two starts may give the same bytes. */
#include "solder_lock.h"

#error "a line with a key needs random numbers: fill in solder_port_entropy in src/entropy.c, or make the project without"

int solder_port_entropy(uint8_t *bytes, uint32_t count)
{
    (void)bytes;
    (void)count;
    return 1; /* 0: there are `count` of them */
}
