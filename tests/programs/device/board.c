/* Checks on a board: memory from one pool, lines over the serial port. */
#include "check.h"
#include "solder_port.h"

#include <string.h>

#ifdef __ARM_FEATURE_MVE
#define POOL_BYTES (384u * 1024u) /* the data RAM of the board with that core is half a megabyte */
#else
#define POOL_BYTES (1024u * 1024u)
#endif

static uint8_t pool[POOL_BYTES] __attribute__((aligned(16)));
static uint32_t used;

void check_print(const char *text)
{
    solder_port_write((const uint8_t *)text, (uint32_t)strlen(text));
}

void *check_allocate(uint32_t bytes)
{
    uint8_t *const memory = pool + used;

    used += (bytes + 15u) & ~15u;
    return used <= POOL_BYTES ? memory : NULL;
}

void check_free_all(void)
{
    used = 0;
}
