/* Fuzzing under the sanitizers: fuzz_main SEED COUNT.

   First the decoder: good frames between random and mutated ones; every good frame must come out, and nothing that
   was never sent. Then the whole server: well-framed requests with random numbers in them, in an open session,
   between noise; after all of it a hello must still be answered. With SOLDER_LOCK the line has a key, which some
   answers are made with: before one of these nothing but a hello, the challenge and its answer may go through. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solder_bytes.h"
#include "solder_cartridge.h"
#include "solder_firmware.h"
#include "solder_frame.h"
#include "solder_function.h"
#include "solder_lock.h"
#include "solder_port.h"
#include "solder_server.h"
#include "solder_sha256.h"
#include "solder_slot.h"

#define MOST_FRAME 2500u
#define MOST_PACKET (SOLDER_FRAME_BYTES - SOLDER_CRC_BYTES)

static uint32_t state;

static uint32_t chance(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

static void require(int holds, const char *what)
{
    if (!holds) {
        printf("%s\n", what);
        exit(1);
    }
}

/* A frame under construction. */
static uint8_t frame[MOST_FRAME];
static uint32_t frame_count;

static void collect(const uint8_t *bytes, uint32_t count)
{
    memcpy(frame + frame_count, bytes, count);
    frame_count += count;
}

static void make_frame(const uint8_t *packet, uint32_t count)
{
    const struct solder_piece pieces[SOLDER_SEND_PIECES] = {{packet, count}, {NULL, 0}, {NULL, 0}};
    frame_count = 0;
    solder_encode(pieces, collect);
}

static uint32_t random_packet(uint8_t *packet)
{
    const uint32_t most = chance(4) == 0 ? MOST_PACKET : 40u;
    const uint32_t count = SOLDER_HEADER_BYTES + chance(most - SOLDER_HEADER_BYTES + 1u);
    const uint32_t range = chance(2) == 0 ? 256u : 2u; /* the second kind is full of zeros */
    for (uint32_t i = 0; i < count; i++) {
        packet[i] = (uint8_t)chance(range);
    }
    return count;
}

static void mutate(void)
{
    const uint32_t at = chance(frame_count);
    switch (chance(5)) {
    case 0:
        frame[at] ^= (uint8_t)(1u << chance(8));
        break;
    case 1: /* a byte is lost */
        memmove(frame + at, frame + at + 1, frame_count - at - 1u);
        frame_count--;
        break;
    case 2: /* a byte comes twice */
        memmove(frame + at + 1, frame + at, frame_count - at);
        frame_count++;
        break;
    case 3:
        frame_count = at;
        break;
    default: /* nothing to do with frames */
        frame_count = chance(MOST_FRAME);
        for (uint32_t i = 0; i < frame_count; i++) {
            frame[i] = (uint8_t)(1u + chance(255));
        }
    }
}

static struct solder_decoder decoder;

/* Feeds the frame; returns whether its last packet is this one, and allows no other. */
static int decodes_to(const uint8_t *packet, uint32_t count)
{
    int found = 0;
    for (uint32_t i = 0; i < frame_count; i++) {
        if (solder_decode(&decoder, frame[i]) == SOLDER_DECODED_PACKET) {
            require(decoder.length == count && memcmp(decoder.bytes, packet, count) == 0, "a packet nobody sent");
            found = 1;
        }
    }
    return found;
}

static void fuzz_decoder(uint32_t rounds)
{
    static uint8_t packet[MOST_PACKET];
    for (uint32_t i = 0; i < rounds; i++) {
        const uint32_t count = random_packet(packet);
        make_frame(packet, count);
        mutate();
        (void)decodes_to(packet, count);
        make_frame(packet, count);
        require(decodes_to(packet, count), "a good frame was lost");
    }
}

/* The server reads what this port makes up, and a reset jumps back to its start. */
static jmp_buf power_on;
static struct solder_decoder replies;
static uint32_t rounds_left;
static uint32_t session_id;
static uint16_t sequence;
static uint32_t boot_nonce;
static uint32_t token;
static int hello_answered; /* the last one */
static uint32_t position;

/* A call as the signature wants it, of which one byte may be another. */
static uint32_t call_packet(uint8_t *packet)
{
    static const char *const names[] = {"void", "i8", "u8", "i16", "i32", "i64", "f32", "bool", "u32", "u64"};
    uint8_t *const payload = packet + SOLDER_HEADER_BYTES;
    const uint32_t number = chance(10);
    const struct solder_function *const function = solder_numbered_function(number);
    const char *at = strchr(function != NULL ? function->text : "f i32(i32)", '(');
    uint32_t given = 0;
    packet[0] = SOLDER_MESSAGE_INVOKE;
    memset(payload, (int)chance(3), 1024);
    solder_set16(payload, number);
    while (*at != ')' && at[1] != ')' && strcmp(at, "(void)") != 0) {
        uint8_t *const head = payload + 4u + 8u * given++;
        at += at[1] == ' ' ? 2 : 1;
        for (uint8_t i = 1; i < 10; i++) {
            head[0] = strncmp(names[i], at, strlen(names[i])) == 0 ? i : head[0];
        }
        at += strcspn(at, ",[)");
        head[1] = *at != '[' ? SOLDER_ARGUMENT_SCALAR : chance(4) == 0 ? SOLDER_ARGUMENT_HANDLE : SOLDER_ARGUMENT_ARRAY;
        solder_set32(head + 4, head[1] == SOLDER_ARGUMENT_HANDLE ? 1u + 16u * chance(4) : (uint32_t)atoi(at + 1));
        at += strcspn(at, ",)");
    }
    solder_set16(payload + 2, given);
    if (chance(2) == 0) {
        payload[chance(4u + 8u * given)] = (uint8_t)chance(chance(2) == 0 ? 4u : 256u);
    }
    return SOLDER_HEADER_BYTES + 4u + 8u * given + (chance(8) == 0 ? chance(900) : 128u);
}

#ifdef SOLDER_LOCK
static uint32_t question[16] = {2u}; /* the last challenge, as what opens the line is hashed */
static int has_opened; /* since the last hello, as far as what was sent can have done it */

/* A challenge, or an answer: with the key, or of random bytes. */
static uint32_t lock_packet(uint8_t *packet)
{
    uint32_t digest[8];
    packet[0] = chance(2) == 0 ? SOLDER_MESSAGE_CHALLENGE : SOLDER_MESSAGE_UNLOCK;
    solder_hmac_sha256(solder_line_key, question, digest);
    for (uint32_t i = 0; i < SOLDER_SHA256_BYTES; i++) {
        packet[SOLDER_HEADER_BYTES + i] = ((const uint8_t *)digest)[i];
    }
    if (chance(2) == 0) {
        packet[SOLDER_HEADER_BYTES + chance(SOLDER_SHA256_BYTES)] ^= (uint8_t)(1u << chance(8));
    }
    return SOLDER_HEADER_BYTES + (packet[0] == SOLDER_MESSAGE_UNLOCK ? SOLDER_SHA256_BYTES : 0u);
}

/* Holds the device to its lock, by what it answers. */
static void watch_lock(const uint8_t *packet)
{
    const uint8_t message = (uint8_t)(packet[0] & ~SOLDER_REPLY_BIT);
    const int is_ok = packet[1] == SOLDER_OK;
    if ((packet[0] & SOLDER_REPLY_BIT) == 0 || !is_ok) {
        return;
    }
    if (message == SOLDER_MESSAGE_HELLO) {
        has_opened = 0;
    } else if (message == SOLDER_MESSAGE_CHALLENGE) {
        memcpy(question + 1, packet + SOLDER_HEADER_BYTES, 16);
    } else if (message == SOLDER_MESSAGE_UNLOCK) {
        has_opened = 1;
    } else {
        require(has_opened, "a request went through a locked line");
    }
}
#endif

/* A state saved or restored: mostly that of the one model that has one, and in an order that may go through. */
static uint32_t state_packet(uint8_t *packet)
{
    const uint32_t counts[] = {2u, 8u, 34u, 6u + chance(700), 2u};
    uint8_t *const payload = packet + SOLDER_HEADER_BYTES;
    const uint32_t action = chance(sizeof counts / sizeof counts[0] + (chance(20) == 0));
    packet[0] = SOLDER_MESSAGE_STATE;
    payload[0] = chance(8) == 0 ? (uint8_t)chance(8) : 1u;
    payload[1] = (uint8_t)action;
    if (action == SOLDER_STATE_BEGIN) {
        memcpy(payload + 2, solder_models[1]->states->head, sizeof solder_models[1]->states->head);
        payload[2u + chance(28)] ^= (uint8_t)(chance(8) == 0);
    } else {
        solder_set32(payload + 2, chance(8) == 0 ? chance(2) * 0xFFFFFFF0u + chance(16) : 100u * chance(14));
        solder_set16(payload + 6, chance(2) == 0 ? 600u : 0u);
    }
    return SOLDER_HEADER_BYTES + (action > SOLDER_STATE_FINISH || chance(20) == 0 ? chance(40) : counts[action]);
}

/* A request as the host might make it: small numbers, and of the right length or nearly. */
static uint32_t plausible_packet(uint8_t *packet)
{
    static const uint32_t payload_bytes[] = {0,  2, 3, 6, 8, 1, 4, 3,  0, 1, 0, 8, 6, 8,
                                             24, 4, 2, 4, 5, 4, 8, 10, 1, 5, 0, 1, 2, 0};
    const uint32_t message = 1 + chance(27);
    uint32_t count = payload_bytes[message];
#ifdef SOLDER_LOCK
    if (chance(4) == 0) {
        return lock_packet(packet);
    }
#endif
    if (message == SOLDER_MESSAGE_INVOKE) {
        return call_packet(packet);
    }
    if (message == SOLDER_MESSAGE_STATE) {
        return state_packet(packet);
    }
    for (uint32_t i = 0; i < 16; i++) {
        packet[SOLDER_HEADER_BYTES + i] = (uint8_t)(i < 2 ? chance(5) : chance(4) == 0);
    }
    if (message == SOLDER_MESSAGE_WRITE) {
        static const uint32_t data_bytes[] = {1, 4, 600};
        memset(packet + SOLDER_HEADER_BYTES + count, (int)chance(6), 600);
        packet[SOLDER_HEADER_BYTES + 1] = (uint8_t)chance(2);
        solder_set32(packet + SOLDER_HEADER_BYTES + 2, 600u * chance(3) * chance(2));
        count += data_bytes[chance(3)];
    }
    if (message >= SOLDER_MESSAGE_MAKE && message < SOLDER_MESSAGE_OBSERVED) { /* arrays: a few small ones, whose handles are likely to come up again */
        solder_set32(packet + SOLDER_HEADER_BYTES, message == SOLDER_MESSAGE_MAKE ? 6u + 256u * chance(4) : 1u + 16u * chance(4));
        packet[SOLDER_HEADER_BYTES + 4] = (uint8_t)(chance(20) == 0 ? 255u : chance(3));
        count += message == SOLDER_MESSAGE_PUT || message == SOLDER_MESSAGE_CARTRIDGE_PUT ? chance(16) : 0;
    }
    packet[0] = (uint8_t)message;
    return SOLDER_HEADER_BYTES + (chance(20) == 0 ? chance(16) : count);
}

static void next_request(void)
{
    static uint8_t packet[MOST_PACKET];
    uint32_t count;
    if (chance(4) > 0) {
        count = plausible_packet(packet);
    } else {
        count = random_packet(packet);
        packet[0] = (uint8_t)chance(chance(8) == 0 ? 256u : 28u);
    }
    sequence = (uint16_t)(sequence + chance(3));
    solder_set16(packet + 2, sequence);
    solder_set32(packet + 4, session_id);
    make_frame(packet, count);
    if (chance(8) == 0) {
        mutate();
    }
}

/* Each with a token of its own: a repeated one would be an echo, which is not answered. */
static void hello(void)
{
    uint8_t packet[] = {SOLDER_MESSAGE_HELLO, 0, 1, 0, 0, 0, 0, 0, SOLDER_PROTOCOL_VERSION, 0};
    token++;
    solder_set32(packet + 4, token);
    session_id = boot_nonce ^ token;
    sequence = 1;
    hello_answered = 0;
    make_frame(packet, sizeof packet);
}

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    if (position == frame_count) {
        if (rounds_left == 0) {
            return 0;
        }
        rounds_left--;
        position = 0;
        if (rounds_left == 0 || chance(50) == 0) {
            hello();
        } else {
            next_request();
        }
        if (frame_count == 0) {
            hello();
        }
    }
    const uint32_t left = frame_count - position;
    const uint32_t count = left < capacity ? left : capacity;
    memcpy(buffer, frame + position, count);
    position += count;
    return count;
}

/* Learns the session from the boot notice, as a host does. */
void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (solder_decode(&replies, bytes[i]) != SOLDER_DECODED_PACKET) {
            continue;
        }
#ifdef SOLDER_LOCK
        watch_lock(replies.bytes);
#endif
        if (replies.bytes[0] == SOLDER_NOTICE_BOOTED) {
            boot_nonce = solder_get32(replies.bytes + SOLDER_HEADER_BYTES);
        }
        if (replies.bytes[0] == (SOLDER_MESSAGE_HELLO | SOLDER_REPLY_BIT)) {
            hello_answered = 1;
        }
    }
}

uint32_t solder_port_ticks(void)
{
    return chance(1000);
}

/* Sometimes there are none. */
int solder_port_entropy(uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)chance(256);
    }
    return chance(16) == 0;
}

uint32_t solder_port_milliseconds(void)
{
    return 0;
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {1000u, 24u};
    return counter;
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack unknown = {NULL, 0};
    return unknown;
}

void solder_port_reset(void)
{
    frame_count = position = 0;
    longjmp(power_on, 1);
}

/* The slot may be written and read; nothing in it can be executed here, so a call ends like a crash. */
struct solder_slot solder_port_slot(void)
{
    static uint32_t memory[160];
    const struct solder_slot slot = {(uint8_t *)memory, sizeof memory, NULL, NULL};
    return slot;
}

void solder_port_sync_code(const uint8_t *code, uint32_t bytes)
{
    (void)code;
    (void)bytes;
    solder_port_reset();
}

void solder_port_deadline(uint32_t milliseconds)
{
    (void)milliseconds;
}

/* Slots for cartridges; what comes is never one, for its SHA-256 would have to be guessed. */
static uint8_t slots[2][1024] __attribute__((aligned(64)));
struct solder_slots solder_slots = {{slots[0], slots[1]}, sizeof slots[0]};
const char solder_cartridge_core[32] = "fuzz";
const char solder_cartridge_product[28] = "";
const uint32_t solder_cartridge_version = 0;

int solder_port_erase(uint32_t slot)
{
    memset(slots[slot], 0xFF, sizeof slots[slot]);
    return 0;
}

int solder_port_program(uint8_t *to, const uint8_t *bytes, uint32_t count)
{
    memcpy(to, bytes, count);
    return 0;
}

static void fuzz_server(uint32_t rounds)
{
    rounds_left = rounds;
    (void)setjmp(power_on);
    solder_server_run();
    require(hello_answered, "the last hello was not answered");
}

int main(int argc, char **argv)
{
    require(argc == 3, "usage: fuzz_main SEED COUNT");
    state = (uint32_t)strtoul(argv[1], NULL, 10) | 1u;
    const uint32_t rounds = (uint32_t)strtoul(argv[2], NULL, 10);
    fuzz_decoder(rounds);
    fuzz_server(rounds);
    return 0;
}
