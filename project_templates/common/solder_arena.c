/* Keeps track of the arenas: their model, the inputs written, the outputs computed, the states saved and restored. */
#include "solder_arena.h"

#include <stddef.h>
#include <string.h>

#include "solder_bytes.h"
#ifdef SOLDER_WEIGHTS
#include "solder_cartridge.h"
#endif

#define MOST_INPUTS 256u /* bits of `written` */

static struct {
    const struct solder_model *owner;
    uint32_t input;  /* being written ... */
    uint32_t filled; /* ... up to this byte */
    uint8_t has_result;
    uint8_t written[MOST_INPUTS / 8u]; /* a bit for each input that is complete */
#ifdef SOLDER_STATES
    const struct solder_model *restored; /* its states are being written, up to `filled`; then there is no owner */
    uint32_t checksum;                   /* which they must have */
#endif
} arena;

const struct solder_model *solder_find_model(uint32_t number)
{
    return number < solder_model_count ? solder_models[number] : NULL;
}

uint32_t solder_arena_total(const uint32_t *sizes, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += sizes[i];
    }
    return total;
}

#ifndef SOLDER_CARTRIDGES /* whose loader asks too */
static
#endif
int solder_arena_has_room(const uint32_t *sizes, uint32_t count, uint32_t alignment)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i >= solder_arena_count || sizes[i] > solder_arena_sizes[i] ||
            ((uintptr_t)solder_arenas[i] & (alignment - 1u)) != 0) {
            return 0;
        }
    }
    return 1;
}

void solder_arena_forget(void)
{
    memset(&arena, 0, sizeof arena);
}

static enum solder_status claim(uint32_t number)
{
    const struct solder_model *model = solder_find_model(number);
    if (model == NULL) {
        return SOLDER_NO_SUCH_MODEL;
    }
#ifdef SOLDER_WEIGHTS
    if (number == 0 && solder_cartridge_slot == SOLDER_BUILT_IN) {
        return SOLDER_NO_WEIGHTS;
    }
#endif
    if (!solder_arena_has_room(model->arena_bytes, model->arena_count, 1u)) {
        return SOLDER_ARENA_TOO_SMALL;
    }
    if (model->input_count > MOST_INPUTS) {
        return SOLDER_TOO_MANY_INPUTS;
    }
    if (arena.owner != model) {
        solder_arena_forget();
        arena.owner = model;
        if (model->reset_state != NULL) {
            model->reset_state(solder_arenas);
        }
    }
    return SOLDER_OK;
}

static void mark_input(uint32_t input, int is_complete)
{
    const uint32_t bit = 1u << (input % 8u);
    const uint32_t others = arena.written[input / 8u] & ~bit;
    arena.written[input / 8u] = (uint8_t)(is_complete ? others | bit : others);
}

static int all_written(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bits = arena.written[i / 8u];
        if ((bits >> (i % 8u) & 1u) == 0) {
            return 0;
        }
    }
    return 1;
}

static int within(const struct solder_tensor *tensor, uint32_t offset, uint32_t count)
{
    return offset <= tensor->bytes && count <= tensor->bytes - offset;
}

/* Bytes of this input that are in place already. */
static uint32_t filled_bytes(uint32_t input)
{
    return arena.input == input ? arena.filled : 0;
}

static uint8_t *place_of(const struct solder_tensor *tensor)
{
    return solder_arenas[tensor->arena] + tensor->arena_offset;
}

/* Bytes of this input up to here are in place now. */
static void fill(uint32_t input, const struct solder_tensor *tensor, uint32_t bytes)
{
    arena.has_result = 0; /* inputs and outputs may share memory */
    arena.input = input;
    arena.filled = bytes;
    mark_input(input, bytes == tensor->bytes);
}

enum solder_status solder_arena_write(uint32_t model, uint32_t input, uint32_t offset, const uint8_t *bytes,
                                      uint32_t count)
{
    const enum solder_status claimed = claim(model);
    if (claimed != SOLDER_OK) {
        return claimed;
    }
    if (input >= arena.owner->input_count) {
        return SOLDER_NO_SUCH_TENSOR;
    }
    const struct solder_tensor *tensor = &arena.owner->inputs[input];
    if (!within(tensor, offset, count)) {
        return SOLDER_OUT_OF_RANGE;
    }
    if (offset > filled_bytes(input)) {
        return SOLDER_WRITE_GAP;
    }
    memcpy(place_of(tensor) + offset, bytes, count);
    fill(input, tensor, offset + count);
    return SOLDER_OK;
}

#ifdef SOLDER_INPUT_ADDRESS
enum solder_status solder_arena_input_address(uint32_t model, uint32_t input, const uint8_t **bytes)
{
    static const uint8_t nothing = 0;
    const enum solder_status written = solder_arena_write(model, input, 0, &nothing, 0);
    if (written == SOLDER_OK) {
        const struct solder_tensor *tensor = &arena.owner->inputs[input];
        *bytes = place_of(tensor);
        fill(input, tensor, tensor->bytes);
    }
    return written;
}
#endif

enum solder_status solder_arena_read(uint32_t model, uint32_t output, uint32_t offset, uint32_t count,
                                     const uint8_t **bytes)
{
    const struct solder_model *found = solder_find_model(model);
    if (found == NULL) {
        return SOLDER_NO_SUCH_MODEL;
    }
    if (output >= found->output_count) {
        return SOLDER_NO_SUCH_TENSOR;
    }
    if (found != arena.owner || !arena.has_result) {
        return SOLDER_NO_RESULT;
    }
    const struct solder_tensor *tensor = &found->outputs[output];
    if (!within(tensor, offset, count)) {
        return SOLDER_OUT_OF_RANGE;
    }
    *bytes = place_of(tensor) + offset;
    return SOLDER_OK;
}

static void spend_inputs(void)
{
    memset(arena.written, 0, sizeof arena.written);
    arena.filled = 0;
    arena.has_result = 0;
}

enum solder_status solder_arena_begin_run(uint32_t model)
{
    const enum solder_status claimed = claim(model);
    if (claimed != SOLDER_OK) {
        return claimed;
    }
    if (!all_written(arena.owner->input_count)) {
        return SOLDER_INPUT_MISSING;
    }
    spend_inputs();
    return SOLDER_OK;
}

enum solder_status solder_arena_begin_trial(uint32_t model)
{
    const enum solder_status claimed = claim(model);
    spend_inputs();
    return claimed;
}

void solder_arena_finish_run(void)
{
    arena.has_result = 1;
}

#ifdef SOLDER_STATES
static uint8_t *place_of_state(const struct solder_state *state)
{
    return solder_arenas[state->arena] + state->arena_offset;
}

/* Where the states' bytes from this offset on are, and how many are in one place: 0 at their end. */
static uint32_t part_of(const struct solder_states *states, uint32_t offset, uint8_t **place)
{
    for (uint32_t i = 0; i < states->count; i++) {
        const struct solder_state *const state = &states->each[i];
        if (offset < state->bytes) {
            *place = place_of_state(state) + offset;
            return state->bytes - offset;
        }
        offset -= state->bytes;
    }
    return 0;
}

enum solder_status solder_arena_read_state(uint32_t model, uint32_t offset, const uint8_t **bytes, uint32_t *count)
{
    uint8_t *place = NULL;
    const struct solder_model *const found = solder_find_model(model);
    const enum solder_status claimed = arena.owner == NULL ? claim(model) : SOLDER_OK;
    if (claimed != SOLDER_OK) {
        return claimed;
    }
    if (found == NULL) {
        return SOLDER_NO_SUCH_MODEL;
    }
    if (found != arena.owner || found->states == NULL) {
        return SOLDER_NO_STATE;
    }
    *count = part_of(found->states, offset, &place);
    *bytes = place;
    return *count > 0 ? SOLDER_OK : SOLDER_OUT_OF_RANGE;
}

enum solder_status solder_arena_begin_restore(uint32_t model, const uint8_t *header)
{
    const struct solder_model *const found = solder_find_model(model);
    if (found != NULL && found->states == NULL) {
        return SOLDER_NO_STATE;
    }
    if (found != NULL && memcmp(header, found->states->head, sizeof found->states->head) != 0) {
        return SOLDER_WRONG_STATE;
    }
    const enum solder_status claimed = claim(model);
    if (claimed == SOLDER_OK) {
        solder_arena_forget();
        arena.restored = found;
        arena.checksum = solder_get32(header + sizeof found->states->head);
    }
    return claimed;
}

enum solder_status solder_arena_restore(uint32_t model, uint32_t offset, const uint8_t *bytes, uint32_t count)
{
    uint8_t *place = NULL;
    if (arena.restored == NULL || arena.restored != solder_find_model(model) || offset > arena.filled) {
        return SOLDER_WRITE_GAP;
    }
    arena.filled = offset;
    while (count > 0) {
        const uint32_t space = part_of(arena.restored->states, arena.filled, &place);
        const uint32_t fitting = count < space ? count : space;
        if (fitting == 0) {
            return SOLDER_OUT_OF_RANGE;
        }
        memcpy(place, bytes, fitting);
        arena.filled += fitting;
        bytes += fitting;
        count -= fitting;
    }
    return SOLDER_OK;
}

/* FNV-1a of all bytes of the states, as <model>_save_state computes it. */
static uint32_t checksum_of(const struct solder_states *states)
{
    uint32_t sum = 2166136261u;
    for (uint32_t i = 0; i < states->count; i++) {
        const uint8_t *const bytes = place_of_state(&states->each[i]);
        for (uint32_t k = 0; k < states->each[i].bytes; k++) {
            sum = (sum ^ bytes[k]) * 16777619u;
        }
    }
    return sum;
}

enum solder_status solder_arena_finish_restore(uint32_t model)
{
    uint8_t *place = NULL;
    const struct solder_model *const restored = arena.restored;
    const int is_whole = restored != NULL && restored == solder_find_model(model) &&
                         part_of(restored->states, arena.filled, &place) == 0 &&
                         checksum_of(restored->states) == arena.checksum;
    solder_arena_forget();
    if (!is_whole) {
        return SOLDER_WRONG_STATE;
    }
    arena.owner = restored;
    return SOLDER_OK;
}
#endif
