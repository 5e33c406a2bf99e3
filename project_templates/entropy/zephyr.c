/* Random numbers of Zephyr's: of the board's generator (CONFIG_ENTROPY_GENERATOR in prj.conf). */
#include <zephyr/random/random.h>

#include "solder_lock.h"

int solder_port_entropy(uint8_t *bytes, uint32_t count)
{
    return sys_csrand_get(bytes, count) != 0;
}
