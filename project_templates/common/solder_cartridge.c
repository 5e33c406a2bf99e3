/* The loader: receives a cartridge into the slot that does not run, checks it, tries it, and swaps.

   A table of states and requests, `next` below, decides what may come when (deploy docs cartridges).

   A slot ends with three records, each written once: COMMITTED with the number of the update, TRIED before the first
   run, PASSED after it. Power may go at any byte. A cartridge that is not committed, or that was tried and did not
   pass, never runs again, and the other slot was not touched. */
#include "solder_cartridge.h"

#ifdef SOLDER_CARTRIDGES

#include <stddef.h>
#include <string.h>

#include "solder_arena.h"
#include "solder_firmware.h"
#include "solder_frame.h"
#include "solder_port.h"
#include "solder_sha256.h"
#include "solder_table.h"

#define MAGIC 0x54524143u /* "CART" */
#define MOST_ARENAS 4u
#define DESCRIPTION_BYTES 512u
#define SIGNATURE_BYTES 64u
#define SERVER_STACK_BYTES 1024u /* of the stack that models do not have to themselves */

/* The beginning of a cartridge; platforms/cartridge/header.py writes it. All cores that run one are little endian. */
struct header {
    uint32_t magic;
    uint32_t format;      /* SOLDER_CARTRIDGE_FORMAT */
    uint32_t total;       /* bytes: this header, code and constants, description, relocations; whole blocks of 64 */
    uint32_t description; /* offset of what is copied to RAM, for pointers are put in there ... */
    uint32_t description_bytes;
    uint32_t model; /* ... and in it that of its struct solder_model ... */
    uint32_t relocations;  /* ... and the words that point into the cartridge: their offsets are the last words */
    uint32_t is_signed; /* the SHA-256 of these bytes follows, and then may a signature of it */
    uint32_t arenas;
    uint32_t arena_bytes[MOST_ARENAS];
    uint32_t alignment;
    uint32_t stack_bytes;
    uint32_t test_crc; /* of the outputs for inputs that are made up; 0: they may differ from core to core */
    uint32_t version;  /* of the product's models, counting up */
    char core[32];
    char product[28];
};

/* The states of the loader. OFF: no start yet; IDLE: no update is open; OPEN: pieces of a cartridge are taken; BUSY: a
   request is being carried out, and no other may interrupt it. */
enum state { OFF, IDLE, OPEN, BUSY, STATES };
enum request { START, BEGIN, TAKE, FINISH, PREVIOUS, REQUESTS };

/* The state after a request that succeeds. OFF: the request is refused and changes nothing. A request is BUSY while it
   is carried out; one that fails leaves IDLE, which ends an update. */
static const uint8_t next[REQUESTS][STATES] = {
    /*             OFF   IDLE  OPEN  BUSY */
    [START]    = {IDLE, IDLE, IDLE, IDLE},
    [BEGIN]    = {OFF,  OPEN, OPEN, OFF},
    [TAKE]     = {OFF,  OFF,  OPEN, OFF},
    [FINISH]   = {OFF,  OFF,  IDLE, OFF},
    [PREVIOUS] = {OFF,  IDLE, IDLE, OFF},
};

/* The records of one update, at a slot's end: each is a word and its inverse, followed by nothing that counts. */
enum { COMMITTED, TRIED, PASSED, RECORDS };
#define RECORDS_BYTES (RECORDS * SOLDER_RECORD_BYTES)
#define ERASED 0xFFFFFFFFu

#ifdef SOLDER_WEIGHTS
#define OF_ANOTHER_MODEL SOLDER_CARTRIDGE_STRUCTURE
static uint8_t *copied_to; /* NULL: weights are read in place */
#else
#define OF_ANOTHER_MODEL SOLDER_CARTRIDGE_CORE
static const struct solder_model *built_in;
#endif
#if defined SOLDER_WEIGHTS || defined SOLDER_TABLES
#define DESCRIPTION_OF(header) 0u /* nothing of it is copied */
#else
#define DESCRIPTION_OF(header) ((header)->description_bytes)
static uint8_t description[DESCRIPTION_BYTES] __attribute__((aligned(8)));
#endif
uint32_t solder_cartridge_slot = SOLDER_BUILT_IN;
static struct {
    uint8_t state;      /* enum state */
    uint8_t afterwards; /* the state after the request that is being carried out */
    uint32_t slot;      /* of the update */
    uint32_t received;  /* bytes of it */
} update;

/* Whether the request may come now; it is then being carried out. None reaches the slot that runs. */
static int enter(enum request request)
{
    const uint8_t then = next[request][update.state];
    if (then == OFF || (update.state == OPEN && update.slot == solder_cartridge_slot)) {
        return 0;
    }
    update.afterwards = then;
    update.state = BUSY;
    return 1;
}

static uint8_t leave(uint8_t status)
{
    update.state = status == SOLDER_OK ? update.afterwards : (uint8_t)IDLE;
    return status;
}

static const struct header *header_of(uint32_t slot)
{
    return (const struct header *)(const void *)solder_slots.base[slot];
}

static uint32_t room(void)
{
    return solder_slots.bytes - RECORDS_BYTES;
}

static uint32_t *record_of(uint32_t slot, uint32_t record)
{
    return (uint32_t *)(void *)(solder_slots.base[slot] + room() + record * SOLDER_RECORD_BYTES);
}

static int write_record(uint32_t slot, uint32_t record, uint32_t value)
{
    const uint32_t words[] = {value, ~value};
    return solder_port_program((uint8_t *)record_of(slot, record), (const uint8_t *)words, sizeof words);
}

/* 0: the power went while it was written, or before. */
static uint32_t value_of(uint32_t slot, uint32_t record)
{
    const uint32_t *const words = record_of(slot, record);
    return words[1] == ~words[0] ? words[0] : 0;
}

static int has_room(const struct header *header)
{
    const uint32_t stack = solder_port_stack().bytes;
    return DESCRIPTION_OF(header) <= DESCRIPTION_BYTES &&
           solder_arena_has_room(header->arena_bytes, header->arenas, header->alignment) &&
           (stack == 0 || (stack >= SERVER_STACK_BYTES && header->stack_bytes <= stack - SERVER_STACK_BYTES));
}

#ifdef SOLDER_TABLES
static struct solder_table table_in(uint32_t slot)
{
    const struct header *const header = header_of(slot);
    const uint32_t count = header->total - (uint32_t)sizeof *header;
    const struct solder_table table = {(const uint8_t *)(header + 1), count, header->arena_bytes, header->arenas};
    return table;
}
#endif

uint32_t solder_cartridge_running(void)
{
    return solder_cartridge_slot == SOLDER_BUILT_IN ? solder_cartridge_version
                                                    : header_of(solder_cartridge_slot)->version;
}

/* Whether the slot holds a cartridge for this firmware, of that many bytes; 0: of the length in its header. */
static uint8_t check(uint32_t slot, uint32_t count)
{
    const struct header *const header = header_of(slot);
    uint32_t digest[8];

    if (header->magic != MAGIC) {
        return SOLDER_NO_CARTRIDGE;
    }
    const uint32_t total = header->total;
    const uint32_t rest = SOLDER_SHA256_BYTES + (header->is_signed != 0 ? SIGNATURE_BYTES : 0u);
    if (total < sizeof *header || total % SOLDER_SHA256_BLOCK != 0 || total > room() - rest ||
        (count != 0 && total + rest != count)) {
        return SOLDER_CARTRIDGE_CUT;
    }
    const uint8_t *const behind = (const uint8_t *)header + total;
    solder_sha256((const uint32_t *)(const void *)header, total, digest);
    if (memcmp(digest, behind, SOLDER_SHA256_BYTES) != 0) {
        return SOLDER_CARTRIDGE_DAMAGED;
    }
#ifdef SOLDER_CARTRIDGE_KEY
    const enum solder_signature found =
        header->is_signed == 0 ? SOLDER_SIGNATURE_WRONG
                               : solder_port_verify(solder_cartridge_key, behind + SOLDER_SHA256_BYTES, behind);
    if (found != SOLDER_SIGNATURE_VALID) {
        return found == SOLDER_SIGNATURE_UNCHECKED ? SOLDER_NO_VERIFIER : SOLDER_CARTRIDGE_OTHER_KEY;
    }
#endif
    if (header->format != SOLDER_CARTRIDGE_FORMAT) {
        return SOLDER_CARTRIDGE_VERSION;
    }
    if (memcmp(header->core, solder_cartridge_core, sizeof header->core) != 0) {
        return OF_ANOTHER_MODEL;
    }
    if (memcmp(header->product, solder_cartridge_product, sizeof header->product) != 0) {
        return SOLDER_CARTRIDGE_PRODUCT;
    }
#ifndef SOLDER_DOWNGRADES
    if (header->version < solder_cartridge_running()) {
        return SOLDER_CARTRIDGE_OLDER;
    }
#endif
#ifdef SOLDER_WEIGHTS
    if (total - sizeof *header < solder_weights_bytes) {
        return OF_ANOTHER_MODEL;
    }
#endif
    if (!has_room(header)) {
        return SOLDER_CARTRIDGE_NEEDS;
    }
#ifdef SOLDER_TABLES
    const struct solder_table table = table_in(slot);
    return solder_table_check(&table);
#else
    return SOLDER_OK;
#endif
}

#ifdef SOLDER_WEIGHTS
int solder_weights_copy_to(void *memory, uint32_t bytes)
{
    copied_to = bytes < solder_weights_bytes ? NULL : memory;
    return copied_to != NULL;
}

/* From now on the model computes with the slot's weights. */
static void connect(uint32_t slot)
{
    const void *place = slot == SOLDER_BUILT_IN ? NULL : header_of(slot) + 1;
    if (place != NULL && copied_to != NULL) {
        memcpy(copied_to, place, solder_weights_bytes);
        place = copied_to;
    }
    solder_weights_lie_at(place);
}
#elif defined SOLDER_TABLES
/* From now on the slot's table is the model that runs. */
static void connect(uint32_t slot)
{
    solder_models[0] = built_in;
    if (slot != SOLDER_BUILT_IN) {
        const struct solder_table table = table_in(slot);
        solder_models[0] = solder_table_model(&table);
    }
}
#else
/* From now on the slot's model is the one that runs. */
static void connect(uint32_t slot)
{
    solder_models[0] = built_in;
    if (slot != SOLDER_BUILT_IN) {
        const struct header *const header = header_of(slot);
        const uint8_t *const base = (const uint8_t *)header;
        const uint32_t *relocation = (const uint32_t *)(const void *)(base + header->total);
        memcpy(description, base + header->description, header->description_bytes);
        for (uint32_t i = 0; i < header->relocations; i++) {
            uint8_t *const at = description + *--relocation;
            uintptr_t word;
            memcpy(&word, at, sizeof word);
            /* Parts of the description are in its copy, all others where they arrived. */
            word += word < header->description ? (uintptr_t)base : (uintptr_t)description - header->description;
            memcpy(at, &word, sizeof word);
        }
        solder_port_sync_code(base, header->total);
        solder_models[0] = (const struct solder_model *)(const void *)(description + header->model);
    }
}
#endif

/* The only way to another model: checks the slot as it is now; one that is not right gives way to what is built in. */
static uint8_t activate(uint32_t slot)
{
    uint8_t status = SOLDER_OK;
    solder_cartridge_slot = SOLDER_BUILT_IN;
    if (slot != SOLDER_BUILT_IN) {
        status = check(slot, 0);
        if (status == SOLDER_OK) {
            solder_cartridge_slot = slot;
        }
    }
    connect(solder_cartridge_slot);
    solder_arena_forget();
    return status;
}

/* Fills an input of small integers with what platforms/cartridge/self_test.py makes up too, others with zeros. */
static void make_up(const struct solder_tensor *tensor, uint32_t *state)
{
    uint8_t *const bytes = solder_arenas[tensor->arena] + tensor->arena_offset;
    for (uint32_t i = 0; i < tensor->bytes; i++) {
        *state = *state * 1664525u + 1013904223u;
        bytes[i] = tensor->dtype <= SOLDER_I16 ? (uint8_t)(*state >> 24) : 0u;
    }
}

/* One run from the initial state must give what the reference gave when the cartridge was made. */
static int passes_test(uint32_t slot)
{
    const struct solder_model *const model = solder_models[0];
    uint32_t state = 1;
    uint32_t crc = 0;
    if (model->reset_state != NULL) {
        model->reset_state(solder_arenas);
    }
    for (uint32_t i = 0; i < model->input_count; i++) {
        make_up(&model->inputs[i], &state);
    }
    if (model->run(solder_arenas) != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < model->output_count; i++) {
        const struct solder_tensor *const tensor = &model->outputs[i];
        crc = solder_crc32(crc, solder_arenas[tensor->arena] + tensor->arena_offset, tensor->bytes);
    }
    return header_of(slot)->test_crc == 0 || crc == header_of(slot)->test_crc;
}

/* The first run of a cartridge. If it crashes the device, the record shows that after the reset. */
static uint8_t try_out(uint32_t slot)
{
    const uint32_t before = solder_cartridge_slot;
    uint8_t status = write_record(slot, TRIED, 0) != 0 ? SOLDER_CARTRIDGE_STORE : activate(slot);
    if (status == SOLDER_OK && !passes_test(slot)) {
        status = SOLDER_CARTRIDGE_TEST;
    }
    if (status == SOLDER_OK && write_record(slot, PASSED, 1) != 0) {
        status = SOLDER_CARTRIDGE_STORE;
    }
    if (status != SOLDER_OK) {
        (void)activate(before);
    }
    solder_arena_forget(); /* and no state is left of the test */
    return status;
}

/* After a start: runs the slot's cartridge if it came as a whole, and has passed its test or not been tried. */
static void resume(uint32_t slot)
{
    if (value_of(slot, PASSED) != 0) {
        (void)activate(slot);
    } else if (value_of(slot, COMMITTED) != 0 && *record_of(slot, TRIED) == ERASED) {
        (void)try_out(slot);
    }
}

static uint32_t newer(void)
{
    return value_of(1, COMMITTED) > value_of(0, COMMITTED);
}

void solder_cartridge_start(void)
{
    const uint32_t slot = newer();
#ifndef SOLDER_WEIGHTS
    built_in = built_in == NULL ? solder_models[0] : built_in;
#endif
    (void)enter(START);
    (void)activate(SOLDER_BUILT_IN);
    resume(slot);
    if (solder_cartridge_slot == SOLDER_BUILT_IN) {
        resume(slot ^ 1u);
    }
    (void)leave(SOLDER_OK);
}

static uint8_t erased(uint32_t slot)
{
    return solder_port_erase(slot) != 0 ? SOLDER_CARTRIDGE_STORE : SOLDER_OK;
}

uint8_t solder_cartridge_begin(void)
{
    if (!enter(BEGIN)) {
        return SOLDER_NO_UPDATE;
    }
    update.slot = (solder_cartridge_slot == SOLDER_BUILT_IN ? newer() : solder_cartridge_slot) ^ 1u;
    update.received = 0;
    return leave(erased(update.slot));
}

/* Programs what is new of a piece, which may come again. */
static uint8_t store(uint32_t offset, const uint8_t *bytes, uint32_t count)
{
    const uint32_t known = update.received - offset;
    if (count <= known) {
        return SOLDER_OK;
    }
    if (solder_port_program(solder_slots.base[update.slot] + update.received, bytes + known, count - known) != 0) {
        return SOLDER_CARTRIDGE_STORE;
    }
    update.received = offset + count;
    return SOLDER_OK;
}

/* A piece that leaves a gap or does not fit is rejected, and the update stays open. */
uint8_t solder_cartridge_take(uint32_t offset, const uint8_t *bytes, uint32_t count)
{
    if (!enter(TAKE)) {
        return SOLDER_NO_UPDATE;
    }
    const uint8_t status = offset > update.received          ? SOLDER_WRITE_GAP
                           : count > room() - offset ? SOLDER_CARTRIDGE_SIZE
                                                      : store(offset, bytes, count);
    (void)leave(status == SOLDER_CARTRIDGE_STORE ? status : (uint8_t)SOLDER_OK);
    return status;
}

uint8_t solder_cartridge_finish(void)
{
    if (!enter(FINISH)) {
        return SOLDER_NO_UPDATE;
    }
    uint8_t status = check(update.slot, update.received); /* if nothing has come, erased memory */
    if (status == SOLDER_OK && write_record(update.slot, COMMITTED, value_of(update.slot ^ 1u, COMMITTED) + 1u) != 0) {
        status = SOLDER_CARTRIDGE_STORE;
    }
    return leave(status == SOLDER_OK ? try_out(update.slot) : status);
}

/* What runs gives way to the cartridge before it, and is erased: after a reset it would be the newer one. */
uint8_t solder_cartridge_previous(void)
{
    const uint32_t left = solder_cartridge_slot;
    if (!enter(PREVIOUS)) {
        return SOLDER_NO_UPDATE;
    }
    const int is_there = left != SOLDER_BUILT_IN && value_of(left ^ 1u, PASSED) != 0;
    uint8_t status = is_there ? check(left ^ 1u, 0) : (uint8_t)SOLDER_NO_PREVIOUS;
    if (status == SOLDER_OK) {
        (void)activate(left ^ 1u);
        status = erased(left);
    }
    return leave(status);
}

#endif
