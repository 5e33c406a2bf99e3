/* The greeting that begins a session: which firmware this is, and what it can. */
#ifndef SOLDER_HELLO_H
#define SOLDER_HELLO_H

#include <stdint.h>

#include "solder_session.h"

#ifdef __cplusplus
extern "C" {
#endif

extern uint32_t solder_run_deadline_ms; /* from the host's hello; 0: no deadline */

void solder_hello_begin(uint32_t nonce);

/* What three messages do. The last two are of a line with a key (solder_lock.h). */
uint8_t solder_hello(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_hello_challenge(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_hello_unlock(const uint8_t *payload, uint32_t count, struct solder_reply *reply);

/* Whether this message is not answered before the key was shown. */
uint8_t solder_hello_shuts(uint8_t message);

#ifdef __cplusplus
}
#endif

#endif
