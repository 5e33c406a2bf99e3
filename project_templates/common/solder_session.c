/* Sessions, sequence numbers, and the last reply, kept to be sent again. */
#include "solder_session.h"

#include <stddef.h>
#include <string.h>

#include "solder_bytes.h"
#include "solder_frame.h"
#include "solder_port.h"
#include "solder_rate.h"

struct header {
    uint8_t kind;
    uint8_t status;
    uint16_t sequence;
    uint32_t session;
};

static struct {
    uint32_t boot_nonce;
    uint32_t id;        /* the host's token mixed with the boot nonce */
    uint8_t is_open;    /* a hello has come since the boot */
    struct header last; /* of the last reply, or of the one being made */
    struct solder_reply reply;
} session;
static struct solder_decoder decoder;

static void send(struct header header, const uint8_t *bytes, uint32_t count, const uint8_t *body, uint32_t body_count)
{
    uint8_t head[SOLDER_HEADER_BYTES];
    head[0] = header.kind;
    head[1] = header.status;
    solder_set16(head + 2, header.sequence);
    solder_set32(head + 4, header.session);
    const struct solder_piece pieces[SOLDER_SEND_PIECES] = {{head, sizeof head}, {bytes, count}, {body, body_count}};
    solder_encode(pieces, solder_port_write);
}

static void send_notice(uint8_t notice, const uint8_t *bytes, uint32_t count)
{
    const struct header header = {notice, SOLDER_OK, session.last.sequence, session.id};
    send(header, bytes, count, NULL, 0);
}

static void send_nonce(struct header header)
{
    uint8_t nonce[4];
    solder_set32(nonce, session.boot_nonce);
    send(header, nonce, sizeof nonce, NULL, 0);
}

static void send_reply(void)
{
    const struct solder_reply *reply = &session.reply;
    send(session.last, reply->bytes, reply->count, reply->body, reply->body_count);
}

void solder_session_begin(uint32_t boot_nonce)
{
    const struct header header = {SOLDER_NOTICE_BOOTED, SOLDER_OK, 0, 0};
    memset(&session, 0, sizeof session);
    memset(&decoder, 0, sizeof decoder);
    session.boot_nonce = boot_nonce;
    send_nonce(header);
}

void solder_session_working(void)
{
    send_notice(SOLDER_NOTICE_WORKING, NULL, 0);
}

void solder_log(const char *text)
{
    send_notice(SOLDER_NOTICE_LOG, (const uint8_t *)text, (uint32_t)strlen(text));
}

static void carry_out(struct header header, const struct solder_request *request, solder_handler handle)
{
    struct solder_reply *reply = &session.reply;
    reply->status = SOLDER_OK;
    reply->count = 0;
    reply->body = NULL;
    reply->body_count = 0;
    reply->afterwards = NULL;
    session.last = header;
    session.last.kind |= SOLDER_REPLY_BIT;
    handle(request, reply);
    session.last.status = reply->status;
    send_reply();
    if (reply->afterwards != NULL) {
        reply->afterwards();
    }
}

/* 0: the request was answered already; less: it is from before that one; more: it is new. */
static int32_t age(uint16_t sequence)
{
    return (int16_t)(uint16_t)(sequence - session.last.sequence);
}

static void receive_hello(struct header header, const struct solder_request *request, solder_handler handle)
{
    const uint32_t id = header.session ^ session.boot_nonce; /* a hello carries the host's token */
    if (session.is_open && id == session.id && age(header.sequence) != 0) {
        return; /* a late copy of the hello that opened this session */
    }
    if (session.is_open && id == session.id) {
        send_reply();
        return;
    }
    session.is_open = 1;
    session.id = id;
    carry_out(header, request, handle);
}

static void receive_request(struct header header, const struct solder_request *request, solder_handler handle)
{
    if (!session.is_open || header.session != session.id) {
        header.kind |= SOLDER_REPLY_BIT;
        header.status = SOLDER_NO_SESSION;
        send_nonce(header);
    } else if (age(header.sequence) > 0) {
        carry_out(header, request, handle);
    } else if (age(header.sequence) == 0) {
        send_reply();
    }
}

static void receive_packet(solder_handler handle)
{
    const uint8_t *bytes = decoder.bytes;
    const struct header header = {bytes[0], SOLDER_OK, solder_get16(bytes + 2), solder_get32(bytes + 4)};
    const struct solder_request request = {bytes[0], decoder.length - SOLDER_HEADER_BYTES,
                                           bytes + SOLDER_HEADER_BYTES};
    if (header.kind == SOLDER_MESSAGE_HELLO) {
        receive_hello(header, &request, handle);
    } else if (header.kind < SOLDER_REQUEST_LIMIT) { /* else our own bytes, on a line that echoes */
        receive_request(header, &request, handle);
    }
}

void solder_session_receive(const uint8_t *bytes, uint32_t count, solder_handler handle)
{
    for (uint32_t i = 0; i < count; i++) {
        const enum solder_decoded decoded = solder_decode(&decoder, bytes[i]);
#ifdef SOLDER_RATE
        if (decoded != SOLDER_DECODED_NOTHING) {
            solder_rate_heard(decoded == SOLDER_DECODED_PACKET);
        }
#endif
        if (decoded == SOLDER_DECODED_PACKET) {
            receive_packet(handle);
        } else if (decoded == SOLDER_DECODED_DAMAGE) {
            send_notice(SOLDER_NOTICE_DAMAGED, NULL, 0);
        }
    }
}

void solder_reply_bytes(struct solder_reply *reply, const void *bytes, uint32_t count)
{
    const uint32_t space = SOLDER_REPLY_BYTES - reply->count;
    const uint32_t fitting = count < space ? count : space;
    memcpy(reply->bytes + reply->count, bytes, fitting);
    reply->count += fitting;
}

static void append(struct solder_reply *reply, uint32_t value, uint32_t count)
{
    uint8_t little_endian[4];
    solder_set32(little_endian, value);
    solder_reply_bytes(reply, little_endian, count);
}

void solder_reply8(struct solder_reply *reply, uint32_t value)
{
    append(reply, value, 1);
}

void solder_reply16(struct solder_reply *reply, uint32_t value)
{
    append(reply, value, 2);
}

void solder_reply32(struct solder_reply *reply, uint32_t value)
{
    append(reply, value, 4);
}

void solder_reply64(struct solder_reply *reply, uint64_t value)
{
    append(reply, (uint32_t)value, 4);
    append(reply, (uint32_t)(value >> 32), 4);
}

void solder_reply_counter(struct solder_reply *reply, int32_t code)
{
    const struct solder_counter counter = solder_port_counter();
    solder_reply32(reply, (uint32_t)code);
    solder_reply32(reply, counter.hz);
    solder_reply8(reply, counter.bits);
}
