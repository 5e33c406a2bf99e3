/* Challenges and what answers them. */
#include "solder_lock.h"

#ifdef SOLDER_LOCK

#include <string.h>

#include "solder_fault.h"
#include "solder_port.h"
#include "solder_sha256.h"
#include "solder_ticks.h"

/* What is hashed, a whole block: what for, and 16 bytes. */
#define ASKS 1u
#define OPENS 2u
struct question {
    uint32_t purpose;
    uint32_t words[4];
    uint32_t more[11];
};

static uint8_t is_open;
static uint8_t is_asked;
static uint32_t asked; /* challenges since the boot: no two are alike */
static struct question challenge = {OPENS, {0}, {0}};

void solder_lock_close(void)
{
    is_open = 0;
    is_asked = 0;
}

uint8_t solder_lock_is_open(void)
{
    return is_open;
}

/* Fresh after each start by the platform's random numbers, and after each challenge by its number. Made with the key, so
   that no one without the key can predict the next. */
uint8_t solder_lock_challenge(uint32_t boot_nonce, struct solder_reply *reply)
{
    struct question made_of = {ASKS, {0}, {boot_nonce, 0, asked, solder_kept.boots}};
    uint32_t digest[8];
    is_asked = 0;
    if (solder_port_entropy((uint8_t *)made_of.words, sizeof made_of.words) != 0) {
        return SOLDER_NO_ENTROPY;
    }
    made_of.more[1] = solder_port_ticks();
    asked++;
    solder_hmac_sha256(solder_line_key, (const uint32_t *)(const void *)&made_of, digest);
    memcpy(challenge.words, digest, sizeof challenge.words);
    is_asked = 1;
    solder_reply_bytes(reply, challenge.words, sizeof challenge.words);
    return SOLDER_OK;
}

/* All bytes are compared in any case, so that the time reveals nothing about the key. */
uint8_t solder_lock_open(const uint8_t *answer)
{
    uint32_t digest[8];
    uint32_t differs = is_asked != 0 ? 0u : 1u;
    is_asked = 0;
    solder_hmac_sha256(solder_line_key, (const uint32_t *)(const void *)&challenge, digest);
    for (uint32_t i = 0; i < SOLDER_SHA256_BYTES; i++) {
        differs |= (uint32_t)(answer[i] ^ ((const uint8_t *)digest)[i]);
    }
    if (differs != 0) {
        solder_session_working();
        solder_wait(solder_port_counter().hz); /* who guesses tries once a second */
        return SOLDER_WRONG_KEY;
    }
    is_open = 1;
    return SOLDER_OK;
}

#endif
