/* The conversation with the host: each request is carried out once, however often its frame arrives.

   The host has one request under way at a time; its frame fits the decoder's buffer, which is the window.
   A request carries the session (the host's token and this boot's nonce, mixed) and a sequence number.
   A repeated number gets the last reply again, an older one is an echo from the past and is dropped. */
#ifndef SOLDER_SESSION_H
#define SOLDER_SESSION_H

#include <stdint.h>

#include "solder_protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a reply's own data: the longest is that of a time request. Data read from the arena are additional. */
#define SOLDER_REPLY_BYTES (17u + 8u * SOLDER_MOST_REPEATS)

struct solder_request {
    uint8_t message; /* SOLDER_MESSAGE_*, or a number that only a newer host knows */
    uint32_t count;
    const uint8_t *payload;
};

struct solder_reply {
    uint8_t status; /* SOLDER_OK, ... */
    uint32_t count;
    uint8_t bytes[SOLDER_REPLY_BYTES];
    const uint8_t *body; /* sent after `bytes`; must stay as it is until the next request */
    uint32_t body_count;
    void (*afterwards)(void); /* called when the reply has been sent; NULL: nothing */
};

typedef void (*solder_handler)(const struct solder_request *request, struct solder_reply *reply);

/* Forgets any session and notifies the host that the device has started. */
void solder_session_begin(uint32_t boot_nonce);

/* Bytes from the line; calls `handle` for each new request and sends its reply. */
void solder_session_receive(const uint8_t *bytes, uint32_t count, solder_handler handle);

/* From a handler: the request has arrived, the reply will take longer. */
void solder_session_working(void);

/* A line of text for the host, in band. Not from interrupts. */
void solder_log(const char *text);

/* Appends to a reply; what does not fit is left out. */
void solder_reply_bytes(struct solder_reply *reply, const void *bytes, uint32_t count);
void solder_reply8(struct solder_reply *reply, uint32_t value);
void solder_reply16(struct solder_reply *reply, uint32_t value);
void solder_reply32(struct solder_reply *reply, uint32_t value);
void solder_reply64(struct solder_reply *reply, uint64_t value);
/* How something that was timed ended, and what the ticks are that follow. */
void solder_reply_counter(struct solder_reply *reply, int32_t code);

#ifdef __cplusplus
}
#endif

#endif
