/* Loads bytes into the slot, reads them back, and calls what they are. */
#include "solder_slot.h"

#ifdef SOLDER_SLOT

#include <string.h>

#include "solder_bytes.h"
#include "solder_fault.h"
#include "solder_frame.h"
#include "solder_measure.h"
#include "solder_port.h"

/* A call request. Places are offsets in the slot. */
struct call {
    uint32_t entry; /* with the lowest bit set if the processor requires it (Thumb) */
    uint32_t argument;
    uint32_t code_bytes; /* from the slot's start: what must be there, before and after */
    uint32_t code_crc;
    uint32_t deadline_ms; /* for each repeat */
    uint32_t number;
    uint32_t repeat;
    uint32_t warm_up;
};

static int within(const struct solder_slot *slot, uint32_t offset, uint32_t count)
{
    return offset <= slot->bytes && count <= slot->bytes - offset;
}

uint8_t solder_slot_describe(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_slot slot = solder_port_slot();
    (void)payload;
    (void)count;
    if (slot.bytes == 0) {
        return SOLDER_NO_SLOT;
    }
    solder_reply32(reply, (uint32_t)(uintptr_t)slot.base);
    solder_reply32(reply, slot.bytes);
    solder_reply16(reply, SOLDER_SLOT_ALIGNMENT);
    return SOLDER_OK;
}

uint8_t solder_slot_load(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_slot slot = solder_port_slot();
    const uint32_t offset = solder_get32(payload);
    const uint32_t data_bytes = count - SOLDER_LOAD_HEADER_BYTES;
    (void)reply;
    if (!within(&slot, offset, data_bytes)) {
        return SOLDER_OUT_OF_RANGE;
    }
    memcpy(slot.base + offset, payload + SOLDER_LOAD_HEADER_BYTES, data_bytes);
    return SOLDER_OK;
}

uint8_t solder_slot_fetch(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_slot slot = solder_port_slot();
    const uint32_t offset = solder_get32(payload);
    const uint32_t wanted = solder_get16(payload + 4);
    (void)count;
    if (!within(&slot, offset, wanted)) {
        return SOLDER_OUT_OF_RANGE;
    }
    reply->body = slot.base + offset;
    reply->body_count = wanted;
    return SOLDER_OK;
}

uint8_t solder_slot_check(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_slot slot = solder_port_slot();
    const uint32_t offset = solder_get32(payload);
    const uint32_t checked = solder_get32(payload + 4);
    (void)count;
    if (!within(&slot, offset, checked)) {
        return SOLDER_OUT_OF_RANGE;
    }
    solder_reply32(reply, solder_crc32(0, slot.base + offset, checked));
    return SOLDER_OK;
}

static uint32_t fingerprint(const struct solder_slot *slot)
{
    uint32_t sum = 0;
    for (const uint32_t *at = slot->watched_low; at < slot->watched_high; at++) {
        sum = ((sum << 1) | (sum >> 31)) ^ *(const volatile uint32_t *)at;
    }
    return sum;
}

static struct solder_timing timed(const struct solder_slot *slot, const struct call *call, uint32_t number)
{
    int32_t (*const entry)(void *) = (int32_t(*)(void *))(uintptr_t)(slot->base + call->entry);
    return solder_time_calls(entry, slot->base + call->argument, number, call->deadline_ms);
}

/* One call, after which the firmware's own memory must be what it was: otherwise nothing can be trusted. */
static int32_t warm_up(const struct solder_slot *slot, const struct call *call)
{
    const uint32_t before = fingerprint(slot);
    const int32_t code = timed(slot, call, 1).code;
    if (fingerprint(slot) != before) {
        const struct solder_fault fault = {
            SOLDER_FAULT_OVERWRITTEN, (uint32_t)(uintptr_t)(slot->base + call->entry), 0, 0, 0, 0, 0, 0};
        solder_fault_keep(&fault);
        solder_port_reset();
    }
    return code;
}

static int is_intact(const struct solder_slot *slot, const struct call *call)
{
    return solder_crc32(0, slot->base, call->code_bytes) == call->code_crc;
}

static int32_t measure(const struct solder_slot *slot, const struct call *call, struct solder_reply *reply)
{
    int32_t code = 0;
    for (uint32_t i = 0; i < call->warm_up && code == 0; i++) {
        solder_session_working();
        code = warm_up(slot, call);
    }
    for (uint32_t i = 0; i < call->repeat && code == 0; i++) {
        solder_session_working();
        const struct solder_timing timing = timed(slot, call, call->number);
        solder_reply64(reply, timing.ticks);
        code = timing.code;
    }
    return code;
}

uint8_t solder_slot_call(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_slot slot = solder_port_slot();
    const struct call call = {solder_get32(payload),      solder_get32(payload + 4),  solder_get32(payload + 8),
                              solder_get32(payload + 12), solder_get32(payload + 16), solder_get16(payload + 20),
                              payload[22],                payload[23]};
    (void)count;
    if (call.entry >= slot.bytes || call.argument > slot.bytes || call.code_bytes > slot.bytes ||
        call.repeat > SOLDER_MOST_REPEATS) {
        return SOLDER_OUT_OF_RANGE;
    }
    if (!is_intact(&slot, &call)) {
        return SOLDER_CODE_DAMAGED;
    }
    solder_port_sync_code(slot.base, call.code_bytes);
    solder_reply_counter(reply, 0);
    solder_reply64(reply, solder_time_nothing(call.number).ticks);
    const int32_t code = measure(&slot, &call, reply);
    solder_set32(reply->bytes, (uint32_t)code);
    if (code != 0) {
        return SOLDER_CODE_FAILED;
    }
    return is_intact(&slot, &call) ? SOLDER_OK : SOLDER_CODE_DAMAGED;
}

#endif
