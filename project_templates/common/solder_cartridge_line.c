/* Cartridges by the line: which model runs, pieces of another, and the swap. */
#include "solder_cartridge.h"

#ifdef SOLDER_CARTRIDGES

#include <stddef.h>
#include <string.h>

#include "solder_bytes.h"

/* With a payload of 1 an update begins. */
uint8_t solder_cartridge_ask(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)count;
    if (payload[0] != 0) {
        const uint8_t status = solder_cartridge_begin();
        if (status != SOLDER_OK) {
            return status;
        }
    }
    solder_reply32(reply, solder_cartridge_slot);
    solder_reply32(reply, solder_slots.bytes - 3u * SOLDER_RECORD_BYTES);
#ifdef SOLDER_CARTRIDGE_KEY
    solder_reply8(reply, 1);
#else
    solder_reply8(reply, 0);
#endif
    solder_reply_bytes(reply, solder_cartridge_core, (uint32_t)strlen(solder_cartridge_core));
    return SOLDER_OK;
}

uint8_t solder_cartridge_put(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)reply;
    return solder_cartridge_take(solder_get32(payload), payload + SOLDER_LOAD_HEADER_BYTES,
                                 count - SOLDER_LOAD_HEADER_BYTES);
}

uint8_t solder_cartridge_swap(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)payload;
    (void)count;
    (void)reply;
    return solder_cartridge_finish();
}

#endif
