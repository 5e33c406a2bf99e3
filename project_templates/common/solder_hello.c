/* The device's facts, sent at once or after a proof of the line's key. */
#include "solder_hello.h"

#include <string.h>

#include "solder_arena.h"
#include "solder_array.h"
#include "solder_bytes.h"
#include "solder_deadline.h"
#include "solder_fault.h"
#include "solder_firmware.h"
#include "solder_lock.h"
#include "solder_profile.h"

#ifdef SOLDER_SLOT
#define CAN_LOAD SOLDER_CAPABILITY_SLOT
#else
#define CAN_LOAD 0u
#endif
#ifdef SOLDER_RATE
#define CAN_RATE SOLDER_CAPABILITY_RATE
#else
#define CAN_RATE 0u
#endif
#ifdef SOLDER_FUNCTIONS
#define CAN_CALL SOLDER_CAPABILITY_FUNCTIONS
#else
#define CAN_CALL 0u
#endif
#ifdef SOLDER_CARTRIDGES
#define CAN_SWAP SOLDER_CAPABILITY_CARTRIDGES
#else
#define CAN_SWAP 0u
#endif
#ifdef SOLDER_INPUT_ADDRESS
#define CAN_TELL_ADDRESS SOLDER_CAPABILITY_INPUT_ADDRESS
#else
#define CAN_TELL_ADDRESS 0u
#endif
#ifdef SOLDER_LOCK
#define CAN_LOCK SOLDER_CAPABILITY_LOCKED
#else
#define CAN_LOCK 0u
#endif

uint32_t solder_run_deadline_ms;
static uint32_t boot_nonce;

void solder_hello_begin(uint32_t nonce)
{
    boot_nonce = nonce;
}

static void reply_build(struct solder_reply *reply)
{
    const size_t length = strlen(solder_build_id);
    const uint32_t count = length < SOLDER_MOST_BUILD_ID ? (uint32_t)length : SOLDER_MOST_BUILD_ID;
    solder_reply8(reply, count);
    solder_reply_bytes(reply, solder_build_id, count);
}

static void reply_fault(struct solder_reply *reply)
{
    const struct solder_fault *fault = &solder_kept.fault;
    const uint32_t words[] = {solder_kept.fault_boot, fault->cause, fault->pc,   fault->lr,     fault->sp,
                              fault->psr,             fault->cfsr,  fault->hfsr, fault->address};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        solder_reply32(reply, words[i]);
    }
}

static void introduce(struct solder_reply *reply)
{
    solder_reply32(reply, boot_nonce);
    solder_reply32(reply, solder_kept.boots);
    solder_reply16(reply, SOLDER_PAYLOAD_BYTES);
    solder_reply16(reply, (SOLDER_CAN_PROFILE ? SOLDER_CAPABILITY_PROFILE : 0u) | CAN_LOAD | CAN_RATE | CAN_CALL |
                              CAN_SWAP | CAN_TELL_ADDRESS | CAN_LOCK |
                              (solder_port_deadline(0) ? SOLDER_CAPABILITY_DEADLINE : 0u));
    solder_reply32(reply, solder_arena_total(solder_arena_sizes, solder_arena_count));
    reply_fault(reply);
    solder_reply16(reply, solder_model_count);
    for (uint32_t i = 0; i < solder_model_count && i < SOLDER_MOST_HASHES; i++) {
        solder_reply_bytes(reply, solder_models[i]->hash, sizeof solder_models[i]->hash);
    }
}

#ifdef SOLDER_LOCK
/* Tells what a session needs and nothing of the models or of faults. */
static void introduce_locked(struct solder_reply *reply)
{
    solder_reply32(reply, boot_nonce);
    solder_reply32(reply, 0);
    solder_reply16(reply, SOLDER_PAYLOAD_BYTES);
    solder_reply16(reply, SOLDER_CAPABILITY_LOCKED);
    for (uint32_t i = 0; i < 1u + sizeof(struct solder_fault) / 4u + 1u; i++) { /* arena, boot of the fault, fault */
        solder_reply32(reply, 0);
    }
    solder_reply16(reply, 0);
}

uint8_t solder_hello_challenge(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    (void)payload;
    (void)count;
    return solder_lock_challenge(boot_nonce, reply);
}

uint8_t solder_hello_unlock(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const uint8_t status = solder_lock_open(payload);
    (void)count;
    if (status == SOLDER_OK) {
        introduce(reply);
    }
    return status;
}

uint8_t solder_hello_shuts(uint8_t message)
{
    return !solder_lock_is_open() && message != SOLDER_MESSAGE_HELLO && message != SOLDER_MESSAGE_CHALLENGE &&
           message != SOLDER_MESSAGE_UNLOCK;
}
#else
uint8_t solder_hello_shuts(uint8_t message)
{
    (void)message;
    return 0;
}
#endif

uint8_t solder_hello(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    /* These two stay as they are in every version, so that the error for a mismatch can name the firmware. */
    solder_reply16(reply, SOLDER_PROTOCOL_VERSION);
    reply_build(reply);
    if (solder_get16(payload) != SOLDER_PROTOCOL_VERSION) {
        return SOLDER_WRONG_PROTOCOL;
    }
#ifdef SOLDER_FUNCTIONS
    solder_arrays_forget();
#endif
    solder_run_deadline_ms = count >= SOLDER_HELLO_BYTES ? solder_get32(payload + 2) : 0;
#ifdef SOLDER_LOCK
    solder_lock_close();
    introduce_locked(reply);
#else
    introduce(reply);
#endif
    return SOLDER_OK;
}
