/* Cartridges by the line: which model runs, pieces of another, and the swap. */
#include "solder_cartridge.h"

#ifdef SOLDER_CARTRIDGES

#include <stddef.h>
#include <string.h>

#include "solder_bytes.h"

#ifdef SOLDER_CARTRIDGE_KEY
#define ASKS_FOR_KEY SOLDER_CARTRIDGE_FACT_KEY
#else
#define ASKS_FOR_KEY 0u
#endif
#ifdef SOLDER_DOWNGRADES
#define GOES_BACK SOLDER_CARTRIDGE_FACT_DOWNGRADES
#else
#define GOES_BACK 0u
#endif

/* Whether that could be done. */
static uint8_t carry_out(uint8_t wish)
{
    return wish == SOLDER_CARTRIDGE_WISH_FACTS      ? SOLDER_OK
           : wish == SOLDER_CARTRIDGE_WISH_BEGIN    ? solder_cartridge_begin()
           : wish == SOLDER_CARTRIDGE_WISH_PREVIOUS ? solder_cartridge_previous()
                                                    : SOLDER_OUT_OF_RANGE;
}

uint8_t solder_cartridge_ask(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const uint8_t status = carry_out(payload[0]);
    (void)count;
    if (status != SOLDER_OK) {
        return status;
    }
    solder_reply32(reply, solder_cartridge_slot);
    solder_reply32(reply, solder_slots.bytes - 3u * SOLDER_RECORD_BYTES);
    solder_reply8(reply, ASKS_FOR_KEY | GOES_BACK | SOLDER_CARTRIDGE_FACT_PRODUCT);
    solder_reply32(reply, solder_cartridge_running());
    solder_reply_bytes(reply, solder_cartridge_product, sizeof solder_cartridge_product);
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
