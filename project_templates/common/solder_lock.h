/* A line with a key: the server answers who shows that it knows the key, by HMAC-SHA256 of a challenge.

   Each hello locks the line and ends what the key opened. A challenge serves once; a wrong answer costs a wait
   of a second. Built if the project defines SOLDER_LOCK, as projects with a line key do. Anyone who can
   change data on an open line can use it: frames are not signed. */
#ifndef SOLDER_LOCK_H
#define SOLDER_LOCK_H

#include <stdint.h>

#include "solder_session.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const uint32_t solder_line_key[8]; /* of line_key.c, which the project's owner keeps secret */

/* By the platform: unpredictable bytes, different after each start, from a random number generator or at least
   a counter of starts in flash. Memory as it wakes up and ticks are alike from one start to the next. Returns 0, or
   another number if there are none. */
int solder_port_entropy(uint8_t *bytes, uint32_t count);

void solder_lock_close(void);
uint8_t solder_lock_is_open(void);
/* Appends a new challenge to the reply; appends nothing and returns SOLDER_NO_ENTROPY without random numbers. */
uint8_t solder_lock_challenge(uint32_t boot_nonce, struct solder_reply *reply);
/* SOLDER_OK, and the line is open, if these 32 bytes answer the last challenge. */
uint8_t solder_lock_open(const uint8_t *answer);

#ifdef __cplusplus
}
#endif

#endif
