/* Changes the line's rate, and goes back when the other end cannot be understood any more. */
#include "solder_rate.h"

#ifdef SOLDER_RATE

#include "solder_bytes.h"
#include "solder_port.h"
#include "solder_ticks.h"

#define PATIENCE 8u
#define DRAIN_SHIFT 8u /* of a second: 4 ms, three bytes at 9600, which hardware may hold back */

static uint32_t wanted;
static uint32_t patience; /* damaged frames until it goes back; 0: at the rate to start with */

static void take_wanted(void)
{
    solder_wait(solder_port_counter().hz >> DRAIN_SHIFT);
    solder_port_set_rate(wanted);
    patience = 1;
}

uint8_t solder_rate_change(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)count;
    wanted = solder_get32(payload);
    if (wanted - 1u >= solder_port_most_rate()) { /* or 0 */
        return SOLDER_OUT_OF_RANGE;
    }
    reply->afterwards = take_wanted;
    return SOLDER_OK;
}

void solder_rate_heard(int is_good)
{
    if (patience == 0) {
        return;
    }
    patience = is_good ? PATIENCE : patience - 1u;
    if (patience == 0) {
        solder_port_set_rate(0);
    }
}

#endif
