/* The whole server with slots for cartridges against a model of its rules, under the sanitizers.

   fuzz_main SEED REQUESTS FILE:STATUS:ADDS:VERSION...

   Each file is a cartridge with the status of an update with it, and what its model adds. The first two are good, the
   next two are good and later. Requests of all kinds, well formed and not, come by the line and by a program's own
   transport, also while another is carried out; between them the device is reset, and power or memory fails. After
   each request the slot that runs is compared with the file that the model below expects there, byte for byte. */
#include "firmware.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solder_bytes.h"
#include "solder_cartridge.h"
#include "solder_firmware.h"
#include "solder_frame.h"
#include "solder_port.h"
#include "solder_server.h"

#define ROOM (SLOT_BYTES - 3u * SOLDER_RECORD_BYTES)
#define MOST_FILES 16
#define MOST_FRAME 2500u
#define NONE (-1)
#define ANY_REFUSAL 255u /* each status but OK */

static uint64_t seed;

static uint32_t chance(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* Files, and what each is worth. */
struct file {
    uint8_t bytes[SLOT_BYTES];
    uint32_t count;
    uint8_t status;
    int adds;
    uint32_t version;
};
static struct file files[MOST_FILES];
static int file_count;

static void read_file(const char *argument)
{
    char path[4096];
    int status = 0;
    struct file *const file = &files[file_count++];
    require(file_count <= MOST_FILES, "too many files", file_count);
    require(sscanf(argument, "%4095[^:]:%d:%d:%u", path, &status, &file->adds, &file->version) == 4, argument, 0);
    FILE *const stream = fopen(path, "rb");
    require(stream != NULL, path, 0);
    file->count = (uint32_t)fread(file->bytes, 1, sizeof file->bytes, stream);
    file->status = (uint8_t)status;
    fclose(stream);
}

/* The model: which slot runs and with which file; the bytes of an open update. */
static uint32_t runs = SOLDER_BUILT_IN;
static int runs_file = NONE;
static int is_open;
static uint32_t target;
static uint8_t pieces[SLOT_BYTES];
static uint32_t piece_bytes;

/* What is counted for the end. */
static long requests, taken, refused, returned, starts, losses;

static uint32_t record(uint32_t slot, uint32_t number)
{
    uint32_t words[2];
    memcpy(words, memory + slot * SLOT_BYTES + ROOM + number * SOLDER_RECORD_BYTES, sizeof words);
    return words[1] == ~words[0] ? words[0] : 0;
}

static int was_tried(uint32_t slot)
{
    uint32_t word;
    memcpy(&word, memory + slot * SLOT_BYTES + ROOM + SOLDER_RECORD_BYTES, sizeof word);
    return word != 0xFFFFFFFFu;
}

static int is_newer(void)
{
    return record(1, 0) > record(0, 0);
}

/* The file that these bytes are, or NONE. */
static int file_of(const uint8_t *bytes, uint32_t count, int is_whole)
{
    for (int n = 0; n < file_count; n++) {
        if ((is_whole ? files[n].count == count : files[n].count <= count) &&
            memcmp(files[n].bytes, bytes, files[n].count) == 0) {
            return n;
        }
    }
    return NONE;
}

static void expect(uint32_t slot, int file)
{
    runs = slot;
    runs_file = file;
}

/* What runs after a start, by the memory as it is. */
static void expect_start(void)
{
    uint32_t slot = (uint32_t)is_newer();
    is_open = 0;
    expect(SOLDER_BUILT_IN, NONE);
    for (int n = 0; n < 2 && runs == SOLDER_BUILT_IN; n++, slot ^= 1u) {
        const int file = file_of(memory + slot * SLOT_BYTES, ROOM, 0);
        const int may_run = record(slot, 0) != 0 && (!was_tried(slot) || record(slot, 2) != 0);
        if (may_run && file != NONE && files[file].status == SOLDER_OK) {
            expect(slot, file);
        }
    }
}

/* Whether the file's version is less than that of what runs. */
static int is_older(int file)
{
    return files[file].version < (runs == SOLDER_BUILT_IN ? BUILT_IN_VERSION : files[runs_file].version);
}

static uint8_t expect_begin(void)
{
    is_open = sound != 0;
    target = (runs == SOLDER_BUILT_IN ? (uint32_t)is_newer() : runs) ^ 1u;
    piece_bytes = 0;
    return is_open ? SOLDER_OK : SOLDER_CARTRIDGE_STORE;
}

static uint8_t expect_take(uint32_t offset, const uint8_t *bytes, uint32_t count)
{
    if (!is_open) {
        return SOLDER_NO_UPDATE;
    }
    if (offset > piece_bytes) {
        return SOLDER_WRITE_GAP;
    }
    if (count > ROOM - offset) {
        return SOLDER_CARTRIDGE_SIZE;
    }
    if (offset + count > piece_bytes) {
        if (sound == 0) {
            is_open = 0;
            return SOLDER_CARTRIDGE_STORE;
        }
        memcpy(pieces + piece_bytes, bytes + (piece_bytes - offset), offset + count - piece_bytes);
        piece_bytes = offset + count;
    }
    return SOLDER_OK;
}

static uint8_t expect_finish(void)
{
    if (!is_open) {
        return SOLDER_NO_UPDATE;
    }
    is_open = 0;
    const int file = file_of(pieces, piece_bytes, 1);
    if (file == NONE) {
        return ANY_REFUSAL;
    }
    const int runs_in_test = files[file].status == SOLDER_OK || files[file].status == SOLDER_CARTRIDGE_TEST;
    if ((runs_in_test || files[file].status == SOLDER_CARTRIDGE_NEEDS) && is_older(file)) { /* compared before needs */
        return SOLDER_CARTRIDGE_OLDER;
    }
    if (runs_in_test) {
        if (sound >= 0 && sound < (files[file].status == SOLDER_OK ? 3 : 2)) {
            return SOLDER_CARTRIDGE_STORE;
        }
    }
    if (files[file].status == SOLDER_OK) {
        expect(target, file);
    }
    return files[file].status;
}

static uint8_t expect_previous(void)
{
    const uint32_t other = runs ^ 1u;
    is_open = 0;
    if (runs == SOLDER_BUILT_IN || record(other, 2) == 0) {
        return SOLDER_NO_PREVIOUS;
    }
    const int file = file_of(memory + other * SLOT_BYTES, ROOM, 0);
    if (file == NONE) { /* power went when it was erased */
        return ANY_REFUSAL;
    }
    if (is_older(file)) {
        return SOLDER_CARTRIDGE_OLDER;
    }
    expect(other, file);
    return sound == 0 ? SOLDER_CARTRIDGE_STORE : SOLDER_OK;
}

static void compare(uint8_t wanted, uint8_t status, const char *what)
{
    require(wanted == ANY_REFUSAL ? status != SOLDER_OK : status == wanted, what, requests);
}

/* After each request: the slot that runs, and sometimes what its model computes. */
static void check(int computes)
{
    require(solder_cartridge_slot == runs, "not the slot runs that should", requests);
    if (runs != SOLDER_BUILT_IN) {
        const struct file *const file = &files[runs_file];
        require(memcmp(memory + runs * SLOT_BYTES, file->bytes, file->count) == 0, "the slot that runs has changed",
                requests);
    }
    if (computes || chance(16) == 0) {
        const int wanted = runs != SOLDER_BUILT_IN ? files[runs_file].adds : BUILT_IN_ADDS != 0 ? BUILT_IN_ADDS : -1;
        require(added() == wanted, "not the model runs that should", requests);
    }
}

/* The line. The server reads what this port makes up, and a reset jumps back to its start. */
static jmp_buf power_on;
static struct solder_decoder replies;
static uint8_t frame[MOST_FRAME];
static uint32_t frame_count, position;
static long rounds_left;
static uint32_t token, boot_nonce, session_id;
static uint16_t sequence;
static uint8_t packet[MOST_FRAME];
static uint8_t wanted; /* the status of the request on the line */
static int is_wanted;  /* whether that is known */

void power_lost(void)
{
    losses++;
    longjmp(power_on, 1);
}

void solder_port_reset(void)
{
    longjmp(power_on, 1);
}

/* An interrupt, while a request is being carried out: refused. */
void before_memory(void)
{
    static const uint8_t evil[64];
    if (chance(64) == 0) {
        require(solder_cartridge_take(0, evil, sizeof evil) == SOLDER_NO_UPDATE, "taken while busy", requests);
        require(solder_cartridge_begin() == SOLDER_NO_UPDATE, "begun while busy", requests);
        require(solder_cartridge_finish() == SOLDER_NO_UPDATE, "finished while busy", requests);
        require(solder_cartridge_previous() == SOLDER_NO_UPDATE, "gone back while busy", requests);
    }
}

void after_record(const uint8_t *at)
{
    (void)at;
}

static void collect(const uint8_t *bytes, uint32_t count)
{
    memcpy(frame + frame_count, bytes, count);
    frame_count += count;
}

static void make_frame(uint32_t count)
{
    const struct solder_piece whole[SOLDER_SEND_PIECES] = {{packet, count}, {NULL, 0}, {NULL, 0}};
    frame_count = position = 0;
    solder_encode(whole, collect);
}

static void hello(void)
{
    static const uint8_t greeting[] = {SOLDER_MESSAGE_HELLO, 0, 1, 0, 0, 0, 0, 0, SOLDER_PROTOCOL_VERSION, 0};
    memcpy(packet, greeting, sizeof greeting);
    token++;
    solder_set32(packet + 4, token);
    session_id = boot_nonce ^ token;
    sequence = 1;
    is_wanted = 0;
    make_frame(sizeof greeting);
}

static void ask(uint8_t message, uint32_t count)
{
    packet[0] = message;
    packet[1] = 0;
    sequence++;
    solder_set16(packet + 2, sequence);
    solder_set32(packet + 4, session_id);
    make_frame(SOLDER_HEADER_BYTES + count);
}

static uint8_t *payload(void)
{
    return packet + SOLDER_HEADER_BYTES;
}

/* The piece of a cartridge that is due, or another. */
static const struct file *sent = files;

static uint32_t make_piece(uint8_t *bytes, uint32_t *offset)
{
    const uint32_t known = piece_bytes < sent->count ? piece_bytes : sent->count;
    uint32_t count = sent->count - known;
    count = count < 1000u ? count : 1000u;
    count = chance(3) == 0 && count > 0 ? chance(count) + 1u : count;
    *offset = known;
    memcpy(bytes, sent->bytes + known, count);
    switch (chance(40)) {
    case 0: /* a changed byte */
        bytes[chance(count + 1u)] ^= (uint8_t)(1u << chance(8));
        break;
    case 1: /* from before, with other bytes behind what is known */
        *offset = chance(known + 1u);
        break;
    case 2:
        *offset = known + 1u + chance(100);
        break;
    case 3:
        *offset = 0u - chance(2000);
        break;
    case 4: /* another's beginning */
        *offset = 0;
        memcpy(bytes, files[chance((uint32_t)file_count)].bytes, 1000u);
        count = chance(1000u);
        break;
    case 5:
        count = chance(2) * 1000u;
        memset(bytes, (int)chance(256), 1000u);
        break;
    default:
        break;
    }
    return count;
}

static void begin_with(void)
{
    const uint32_t good = chance(2) + (is_older(0) ? 2u : 0u);
    sent = &files[chance(3) == 0 ? chance((uint32_t)file_count) : good];
}

/* A request to the loader: by the line, or by a program's own transport. */
static int is_own;

static void begin(void)
{
    begin_with();
    wanted = expect_begin();
    if (is_own) {
        compare(wanted, solder_cartridge_begin(), "a beginning");
    } else {
        payload()[0] = 1;
        ask(SOLDER_MESSAGE_CARTRIDGE, 1);
    }
}

static void take(void)
{
    uint32_t offset;
    uint8_t *const bytes = payload() + SOLDER_LOAD_HEADER_BYTES;
    const uint32_t count = make_piece(bytes, &offset);
    wanted = expect_take(offset, bytes, count);
    if (is_own) {
        compare(wanted, solder_cartridge_take(offset, bytes, count), "a piece");
    } else {
        solder_set32(payload(), offset);
        ask(SOLDER_MESSAGE_CARTRIDGE_PUT, SOLDER_LOAD_HEADER_BYTES + count);
    }
}

static void finish(void)
{
    wanted = expect_finish();
    taken += wanted == SOLDER_OK;
    refused += wanted != SOLDER_OK;
    if (is_own) {
        compare(wanted, solder_cartridge_finish(), "an end");
    } else {
        ask(SOLDER_MESSAGE_CARTRIDGE_SWAP, 0);
    }
}

static void previous(void)
{
    wanted = expect_previous();
    returned += wanted == SOLDER_OK;
    if (is_own) {
        compare(wanted, solder_cartridge_previous(), "a return");
    } else {
        payload()[0] = SOLDER_CARTRIDGE_WISH_PREVIOUS;
        ask(SOLDER_MESSAGE_CARTRIDGE, 1);
    }
}

/* Any other request, and any other bytes; none of them changes what runs. */
static void other(void)
{
    static const uint8_t least[] = {0, 2, 3, 6, 8, 1, 4, 3, 0, 1, 4};
    const uint32_t message = 2u + chance(9);
    const uint32_t count = chance(8) == 0 ? chance(64) : least[message] + (message == SOLDER_MESSAGE_WRITE ? 4u : 0u);
    for (uint32_t i = 0; i < count; i++) {
        payload()[i] = (uint8_t)(chance(4) == 0 ? chance(256) : 0);
    }
    is_wanted = 0;
    if (message == SOLDER_MESSAGE_RESET) {
        payload()[0] = chance(4) == 0; /* of the state mostly */
    }
    if (message == SOLDER_MESSAGE_TIME) {
        payload()[2] = 0;
        payload()[3] %= 3u;
    }
    ask((uint8_t)(chance(16) == 0 ? 26u + chance(230) : message), count);
}

static void start_again(void)
{
    if (is_own) {
        sound = UNLIMITED;
        expect_start();
        solder_cartridge_start();
    } else if (chance(2) == 0) {
        solder_port_reset();
    } else {
        payload()[0] = SOLDER_RESET_DEVICE;
        is_wanted = 0;
        ask(SOLDER_MESSAGE_RESET, 1);
    }
}

/* Power goes, and RAM wakes up with anything, or flash keeps what it has. */
static void cycle_power(void)
{
    losses++;
    if (chance(8) == 0) {
        for (uint32_t i = 0; i < 2u * SLOT_BYTES; i++) {
            memory[i] = (uint8_t)chance(256);
        }
    }
    solder_port_reset();
}

static void (*chosen(void))(void)
{
    const uint32_t number = chance(1000);
    if (number < 200u) {
        return other;
    }
    if (number < 206u) {
        return start_again;
    }
    if (number < 209u) {
        return cycle_power;
    }
    if (number < 240u) {
        return begin;
    }
    if (number < 250u) {
        return finish;
    }
    if (number < 270u) {
        return previous;
    }
    if (is_open && piece_bytes >= sent->count && chance(4) != 0) {
        return finish;
    }
    return is_open || chance(3) == 0 ? take : begin;
}

static void next_request(void)
{
    frame_count = position = 0;
    is_own = chance(4) == 0;
    is_wanted = !is_own;
    sound = chance(100) == 0 ? (long)chance(4) : UNLIMITED;
    power = chance(200) == 0 ? (long)chance(SLOT_BYTES + 600u) : UNLIMITED;
    void (*const request)(void) = chosen();
    requests++;
    request();
    if (is_own) {
        power = sound = UNLIMITED;
    }
}

uint32_t solder_port_read(uint8_t *buffer, uint32_t capacity)
{
    while (position == frame_count) {
        check(0);
        power = sound = UNLIMITED;
        if (rounds_left-- <= 0) {
            return 0;
        }
        if (boot_nonce != 0 && chance(500) != 0 && sequence != 0) {
            next_request();
        } else {
            hello();
        }
    }
    const uint32_t left = frame_count - position;
    const uint32_t count = left < capacity ? left : capacity;
    memcpy(buffer, frame + position, count);
    position += count;
    return count;
}

void solder_port_write(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (solder_decode(&replies, bytes[i]) != SOLDER_DECODED_PACKET) {
            continue;
        }
        if (replies.bytes[0] == SOLDER_NOTICE_BOOTED) {
            boot_nonce = solder_get32(replies.bytes + SOLDER_HEADER_BYTES);
            sequence = 0;
        }
        if (is_wanted && replies.bytes[0] == (packet[0] | SOLDER_REPLY_BIT)) {
            compare(wanted, replies.bytes[1], "a request on the line");
        }
    }
}

uint32_t solder_port_ticks(void)
{
    return chance(1000);
}

struct solder_stack solder_port_stack(void)
{
    const struct solder_stack stack = {NULL, 0};
    return stack;
}

struct solder_counter solder_port_counter(void)
{
    const struct solder_counter counter = {1000u, 24u};
    return counter;
}

int main(int argc, char **argv)
{
    require(argc >= 4, "usage", argc);
    for (int n = 3; n < argc; n++) {
        read_file(argv[n]);
    }
    make_slots();
    for (int n = 0; n < 4; n++) {
        require(files[n].status == SOLDER_OK, "one of the first four files is not good", n);
    }
    seed = strtoull(argv[1], NULL, 10);
    rounds_left = strtol(argv[2], NULL, 10);
    (void)setjmp(power_on);
    /* In the start power may go again. */
    power = sound = UNLIMITED;
    frame_count = position = 0;
    is_wanted = 0;
    sequence = 0;
    memset(&replies, 0, sizeof replies);
    expect_start();
    power = chance(10) == 0 ? (long)chance(20) : UNLIMITED;
    starts++;
    solder_server_run();
    printf("%ld requests, %ld cartridges taken, %ld refused, gone back %ld times, %ld starts, power lost %ld times\n",
           requests, taken, refused, returned, starts, losses);
    return 0;
}
