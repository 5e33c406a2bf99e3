/* One small function per message; the table at the end lists them with the lengths of their payloads. */
#include "solder_server.h"

#include <stddef.h>
#include <string.h>

#include "solder_arena.h"
#include "solder_array.h"
#include "solder_bytes.h"
#include "solder_call.h"
#include "solder_cartridge.h"
#include "solder_deadline.h"
#include "solder_fault.h"
#include "solder_hello.h"
#include "solder_measure.h"
#include "solder_port.h"
#include "solder_profile.h"
#include "solder_rate.h"
#include "solder_session.h"
#include "solder_slot.h"
#include "solder_stack.h"

#define READ_BYTES 64u
#define PROFILE_HEAD_BYTES 11u /* code, hz, bits, count */
#define MOST_PROFILED ((SOLDER_REPLY_BYTES - PROFILE_HEAD_BYTES) / SOLDER_PROFILE_ENTRY_BYTES)
#define SELF_TEST_MS 30000u

/* A request: what carries it out, and how long its payload may be. */
struct message {
    uint8_t (*carry_out)(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
    uint32_t least_bytes;
    uint32_t most_bytes;
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void describe_model(const struct solder_model *model, struct solder_reply *reply)
{
    solder_reply_bytes(reply, model->hash, sizeof model->hash);
    solder_reply32(reply, solder_arena_total(model->arena_bytes, model->arena_count));
    solder_reply16(reply, model->input_count);
    solder_reply16(reply, model->output_count);
    solder_reply16(reply, model->layer_count);
    solder_reply_bytes(reply, model->name, (uint32_t)strlen(model->name));
}

static void describe_tensor(const struct solder_tensor *tensor, struct solder_reply *reply)
{
    solder_reply8(reply, tensor->dtype);
    solder_reply8(reply, tensor->rank);
    solder_reply32(reply, tensor->arena_offset);
    solder_reply32(reply, tensor->bytes);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        solder_reply32(reply, tensor->shape[i]);
    }
    solder_reply_bytes(reply, tensor->name, (uint32_t)strlen(tensor->name));
}

static uint8_t describe(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_model *model = solder_find_model(payload[0]);
    const uint32_t index = payload[2];
    (void)count;
    if (model == NULL) {
        return SOLDER_NO_SUCH_MODEL;
    }
    if (payload[1] == SOLDER_DESCRIBE_MODEL) {
        describe_model(model, reply);
    } else if (payload[1] == SOLDER_DESCRIBE_INPUT && index < model->input_count) {
        describe_tensor(&model->inputs[index], reply);
    } else if (payload[1] == SOLDER_DESCRIBE_OUTPUT && index < model->output_count) {
        describe_tensor(&model->outputs[index], reply);
    } else {
        return SOLDER_NO_SUCH_TENSOR;
    }
    return SOLDER_OK;
}

static uint8_t write(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)reply;
    return (uint8_t)solder_arena_write(payload[0], payload[1], solder_get32(payload + 2),
                                       payload + SOLDER_WRITE_HEADER_BYTES, count - SOLDER_WRITE_HEADER_BYTES);
}

#ifdef SOLDER_INPUT_ADDRESS
static uint8_t input_address(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const uint8_t *bytes = NULL;
    const enum solder_status status = solder_arena_input_address(payload[0], payload[1], &bytes);
    (void)count;
    if (status == SOLDER_OK) {
        solder_reply32(reply, (uint32_t)(uintptr_t)bytes);
    }
    return (uint8_t)status;
}
#endif

static uint8_t read(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)count;
    reply->body_count = solder_get16(payload + 6);
    const enum solder_status status =
        solder_arena_read(payload[0], payload[1], solder_get32(payload + 2), reply->body_count, &reply->body);
    if (status != SOLDER_OK) {
        reply->body_count = 0;
    }
    return (uint8_t)status;
}

/* After a run: its outputs may be read, or nothing is left of it. */
static uint8_t settle(int32_t code)
{
    if (code == 0) {
        solder_arena_finish_run();
        return SOLDER_OK;
    }
    solder_arena_forget();
    return SOLDER_MODEL_FAILED;
}

#ifdef SOLDER_OBSERVED
/* Models of cartridges count nothing: they have no own memory. */
static const void *counters_of(const struct solder_model *model)
{
#ifdef SOLDER_CARTRIDGES
    (void)model;
    return NULL;
#else
    return model->observed;
#endif
}

/* The ticks of a run without those of measuring it, as far as 32 bits hold them. */
static uint32_t net_ticks(struct solder_timing timing, struct solder_timing empty)
{
    const uint64_t ticks = timing.ticks > empty.ticks ? timing.ticks - empty.ticks : 0;

    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}
#endif

static uint8_t run(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)count;
    const enum solder_status begun = solder_arena_begin_run(payload[0]);
    if (begun != SOLDER_OK) {
        return (uint8_t)begun;
    }
    solder_session_working();
    const struct solder_timing empty = solder_time_nothing(1);
    const struct solder_model *model = solder_find_model(payload[0]);
    const struct solder_timing timing = solder_time_runs(model, 1, solder_run_deadline_ms);
#ifdef SOLDER_OBSERVED
    if (counters_of(model) != NULL && timing.code == 0) {
        model->observe_ticks(net_ticks(timing, empty));
    }
#endif
    solder_reply_counter(reply, timing.code);
    solder_reply64(reply, empty.ticks);
    solder_reply64(reply, timing.ticks);
    return settle(timing.code);
}

static uint8_t time(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const uint32_t number = solder_get16(payload + 1);
    const uint32_t repeat = payload[3];
    (void)count;
    if (repeat > SOLDER_MOST_REPEATS) {
        return SOLDER_OUT_OF_RANGE;
    }
    const enum solder_status begun = solder_arena_begin_trial(payload[0]);
    if (begun != SOLDER_OK) {
        return (uint8_t)begun;
    }
    solder_reply_counter(reply, 0);
    solder_reply64(reply, solder_time_nothing(number).ticks);
    struct solder_timing timing = {0, 0};
    for (uint32_t i = 0; i < repeat && timing.code == 0; i++) {
        solder_session_working();
        timing = solder_time_runs(solder_find_model(payload[0]), number, solder_run_deadline_ms);
        solder_reply64(reply, timing.ticks);
    }
    solder_set32(reply->bytes, (uint32_t)timing.code);
    solder_arena_forget();
    return timing.code == 0 ? SOLDER_OK : SOLDER_MODEL_FAILED;
}

static uint8_t profile(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const uint32_t first = solder_get16(payload + 1);
    (void)count;
    if (!SOLDER_CAN_PROFILE) {
        return SOLDER_NOT_BUILT;
    }
    const enum solder_status begun = solder_arena_begin_run(payload[0]);
    if (begun != SOLDER_OK) {
        return (uint8_t)begun;
    }
    const struct solder_model *model = solder_find_model(payload[0]);
    if (first >= model->layer_count) {
        return SOLDER_OUT_OF_RANGE;
    }
    const uint32_t layers = least(model->layer_count - first, MOST_PROFILED);
    solder_session_working();
    const int32_t code =
        solder_profile_run(model, first, layers, reply->bytes + PROFILE_HEAD_BYTES, solder_run_deadline_ms);
    solder_reply_counter(reply, code);
    solder_reply16(reply, layers);
    reply->count += layers * SOLDER_PROFILE_ENTRY_BYTES;
    return settle(code);
}

#if defined SOLDER_OBSERVED && !defined __AVR__
static uint8_t observed(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_model *model = solder_find_model(payload[0]);
    (void)count;
    if (model == NULL) {
        return SOLDER_NO_SUCH_MODEL;
    }
    if (counters_of(model) == NULL) {
        return SOLDER_NOT_BUILT;
    }
    solder_reply_bytes(reply, counters_of(model), SOLDER_OBSERVED_BYTES);
    return SOLDER_OK;
}
#endif

#ifdef SOLDER_STATES
static uint8_t state_head(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_model *const model = solder_find_model(payload[0]);
    (void)count;
    if (model == NULL) {
        return SOLDER_NO_SUCH_MODEL;
    }
    if (model->states == NULL) {
        return SOLDER_NO_STATE;
    }
    solder_reply_bytes(reply, model->states->head, sizeof model->states->head);
    return SOLDER_OK;
}

static uint8_t read_state(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    uint32_t together = 0;
    (void)count;
    const enum solder_status status =
        solder_arena_read_state(payload[0], solder_get32(payload + 2), &reply->body, &together);
    reply->body_count = least(together, solder_get16(payload + SOLDER_STATE_HEADER_BYTES));
    return (uint8_t)status;
}

static uint8_t begin_restore(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)count;
    (void)reply;
    return (uint8_t)solder_arena_begin_restore(payload[0], payload + 2);
}

static uint8_t restore(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)reply;
    return (uint8_t)solder_arena_restore(payload[0], solder_get32(payload + 2), payload + SOLDER_STATE_HEADER_BYTES,
                                         count - SOLDER_STATE_HEADER_BYTES);
}

static uint8_t finish_restore(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)count;
    (void)reply;
    return (uint8_t)solder_arena_finish_restore(payload[0]);
}

static const struct message state_actions[] = {
    [SOLDER_STATE_HEAD] = {state_head, 2, 2},
    [SOLDER_STATE_READ] = {read_state, SOLDER_STATE_HEADER_BYTES + 2, SOLDER_STATE_HEADER_BYTES + 2},
    [SOLDER_STATE_BEGIN] = {begin_restore, 2 + SOLDER_SAVED_HEADER_BYTES, 2 + SOLDER_SAVED_HEADER_BYTES},
    [SOLDER_STATE_WRITE] = {restore, SOLDER_STATE_HEADER_BYTES, SOLDER_PAYLOAD_BYTES},
    [SOLDER_STATE_FINISH] = {finish_restore, 2, 2},
};

static uint8_t state(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    if (payload[1] >= sizeof state_actions / sizeof state_actions[0]) {
        return SOLDER_OUT_OF_RANGE;
    }
    const struct message *const action = &state_actions[payload[1]];
    return count < action->least_bytes || count > action->most_bytes ? (uint8_t)SOLDER_BAD_LENGTH
                                                                      : action->carry_out(payload, count, reply);
}
#endif

static uint8_t stats(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)payload;
    (void)count;
    solder_reply32(reply, solder_port_stack().bytes);
    solder_reply32(reply, solder_stack_used());
    solder_reply32(reply, solder_stack_used_by_runs());
    return SOLDER_OK;
}

static uint8_t reset(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)count;
    solder_arena_forget();
    if (payload[0] == SOLDER_RESET_DEVICE) {
        reply->afterwards = solder_port_reset;
    }
    return payload[0] <= SOLDER_RESET_DEVICE ? SOLDER_OK : SOLDER_OUT_OF_RANGE;
}

#ifdef SOLDER_FUNCTIONS
static uint8_t invoke(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    return solder_call_by_number(payload, count, reply, solder_run_deadline_ms);
}
#endif

#ifdef SOLDER_CARTRIDGES
/* The swap runs the new model, for which it has the time of a run. */
static uint8_t swap(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    solder_session_working();
    (void)solder_port_deadline(solder_run_deadline_ms);
    const uint8_t status = solder_cartridge_swap(payload, count, reply);
    (void)solder_port_deadline(0);
    return status;
}
#endif

#ifndef SOLDER_SLOT
static uint8_t no_slot(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)payload;
    (void)count;
    (void)reply;
    return SOLDER_NO_SLOT;
}
#endif

#ifndef SOLDER_RATE
static uint8_t no_rate(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)payload;
    (void)count;
    (void)reply;
    return SOLDER_NOT_BUILT;
}
#define solder_rate_change no_rate
#endif

static const struct message messages[] = {
    [SOLDER_MESSAGE_HELLO] = {solder_hello, 2, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_DESCRIBE] = {describe, 3, 3},
    [SOLDER_MESSAGE_WRITE] = {write, SOLDER_WRITE_HEADER_BYTES, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_READ] = {read, 8, 8},
    [SOLDER_MESSAGE_RUN] = {run, 1, 1},
    [SOLDER_MESSAGE_TIME] = {time, 4, 4},
    [SOLDER_MESSAGE_PROFILE] = {profile, 3, 3},
    [SOLDER_MESSAGE_STATS] = {stats, 0, 0},
#if defined SOLDER_OBSERVED && !defined __AVR__ /* whose table is in its small RAM */
    [SOLDER_MESSAGE_OBSERVED] = {observed, 1, 1},
#endif
#ifdef SOLDER_INPUT_ADDRESS
    [SOLDER_MESSAGE_INPUT_ADDRESS] = {input_address, 2, 2},
#endif
#ifdef SOLDER_STATES
    [SOLDER_MESSAGE_STATE] = {state, 2, SOLDER_PAYLOAD_BYTES},
#endif
    [SOLDER_MESSAGE_RESET] = {reset, 1, 1},
    [SOLDER_MESSAGE_RATE] = {solder_rate_change, 4, 4},
#ifdef SOLDER_SLOT
    [SOLDER_MESSAGE_SLOT] = {solder_slot_describe, 0, 0},
    [SOLDER_MESSAGE_LOAD] = {solder_slot_load, SOLDER_LOAD_HEADER_BYTES, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_FETCH] = {solder_slot_fetch, 6, 6},
    [SOLDER_MESSAGE_CHECK] = {solder_slot_check, 8, 8},
    [SOLDER_MESSAGE_CALL] = {solder_slot_call, 24, 24},
#else
    [SOLDER_MESSAGE_SLOT] = {no_slot, 0, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_LOAD] = {no_slot, 0, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_FETCH] = {no_slot, 0, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_CHECK] = {no_slot, 0, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_CALL] = {no_slot, 0, SOLDER_PAYLOAD_BYTES},
#endif
#ifdef SOLDER_FUNCTIONS
    [SOLDER_MESSAGE_FUNCTION] = {solder_call_describe, 2, 2},
    [SOLDER_MESSAGE_INVOKE] = {invoke, 4, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_MAKE] = {solder_array_make, 5, 5},
    [SOLDER_MESSAGE_FREE] = {solder_array_free, 4, 4},
    [SOLDER_MESSAGE_PUT] = {solder_array_put, SOLDER_PUT_HEADER_BYTES, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_GET] = {solder_array_get, 10, 10},
#endif
#ifdef SOLDER_CARTRIDGES
    [SOLDER_MESSAGE_CARTRIDGE] = {solder_cartridge_ask, 1, 1},
    [SOLDER_MESSAGE_CARTRIDGE_PUT] = {solder_cartridge_put, SOLDER_LOAD_HEADER_BYTES, SOLDER_PAYLOAD_BYTES},
    [SOLDER_MESSAGE_CARTRIDGE_SWAP] = {swap, 0, 0},
#endif
#ifdef SOLDER_LOCK
    [SOLDER_MESSAGE_CHALLENGE] = {solder_hello_challenge, 0, 0},
    [SOLDER_MESSAGE_UNLOCK] = {solder_hello_unlock, SOLDER_KEY_BYTES, SOLDER_KEY_BYTES},
#endif
};
#define MESSAGE_COUNT (sizeof messages / sizeof messages[0])

static void handle(const struct solder_request *request, struct solder_reply *reply)
{
    const struct message *message = request->message < MESSAGE_COUNT ? &messages[request->message] : NULL;
    if (solder_hello_shuts(request->message)) {
        reply->status = SOLDER_LOCKED;
    } else if (message == NULL || message->carry_out == NULL) {
        reply->status = SOLDER_UNKNOWN_MESSAGE;
    } else if (request->count < message->least_bytes || request->count > message->most_bytes) {
        reply->status = SOLDER_BAD_LENGTH;
    } else {
        reply->status = message->carry_out(request->payload, request->count, reply);
    }
}

void solder_server_run(void)
{
    uint8_t bytes[READ_BYTES];
    uint32_t count;
    solder_stack_paint();
    const uint32_t nonce = solder_fault_boot(solder_port_ticks());
    solder_hello_begin(nonce);
#ifdef SOLDER_CARTRIDGES
    (void)solder_port_deadline(SELF_TEST_MS); /* a cartridge may have come and not been tried */
    solder_cartridge_start();
    (void)solder_port_deadline(0);
#endif
    solder_session_begin(nonce);
    while ((count = solder_port_read(bytes, sizeof bytes)) > 0) {
        solder_session_receive(bytes, count, handle);
    }
}
