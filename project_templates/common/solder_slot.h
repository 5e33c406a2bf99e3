/* Code loaded over the line into free RAM, and called there: for trying out kernels without flashing each.

   Built if the project defines SOLDER_SLOT, as tuning projects do: anyone who reaches the line can run any
   program then. Otherwise these requests return SOLDER_NO_SLOT. A platform that defines it supplies the two
   functions below, and a deadline. */
#ifndef SOLDER_SLOT_H
#define SOLDER_SLOT_H

#include <stdint.h>

#include "solder_session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct solder_slot {
    uint8_t *base; /* aligned to SOLDER_SLOT_ALIGNMENT */
    uint32_t bytes;
    /* The firmware's own variables: code that changes them is faulty. The words are only compared. */
    const uint32_t *watched_low;
    const uint32_t *watched_high;
};
#define SOLDER_SLOT_ALIGNMENT 32u /* a cache line */

/* The memory for loaded code and its data; bytes = 0 if none is left. */
struct solder_slot solder_port_slot(void);

/* Makes bytes that were written as data visible to instruction fetches: caches, barriers. */
void solder_port_sync_code(const uint8_t *code, uint32_t bytes);

/* The requests. */
uint8_t solder_slot_describe(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_slot_load(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_slot_fetch(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_slot_check(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_slot_call(const uint8_t *payload, uint32_t count, struct solder_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
