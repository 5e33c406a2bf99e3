/* Random numbers of the system's. */
#include <stdio.h>

#include "solder_lock.h"

int solder_port_entropy(uint8_t *bytes, uint32_t count)
{
    FILE *const source = fopen("/dev/urandom", "rb");
    size_t got = 0;
    if (source != NULL) {
        got = fread(bytes, 1, count, source);
        (void)fclose(source);
    }
    return got != count;
}
