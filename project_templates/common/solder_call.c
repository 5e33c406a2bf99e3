/* Holds a call's arguments against the function's signature, and calls it. */
#include "solder_call.h"

#ifdef SOLDER_FUNCTIONS

#include <stddef.h>
#include <string.h>

#include "solder_array.h"
#include "solder_bytes.h"
#include "solder_deadline.h"
#include "solder_function.h"
#include "solder_model.h" /* enum solder_dtype */

#define HEAD_BYTES 4u
#define ARGUMENT_BYTES 8u
#define ALIGNMENT 8u

static const char *failure; /* of the function that is being called */

void solder_fail(const char *reason)
{
    failure = reason;
}

uint8_t solder_call_describe(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const struct solder_function *const function = solder_numbered_function(solder_get16(payload));
    (void)count;
    if (function == NULL) {
        return SOLDER_NO_SUCH_FUNCTION;
    }
    reply->body = (const uint8_t *)function->text;
    reply->body_count = (uint32_t)strlen(function->text);
    return SOLDER_OK;
}

/* A type, as signatures name it and as calls bring it. */
struct type {
    uint32_t dtype; /* 0: void, or nothing that is known */
    uint32_t is_array;
    uint32_t count;
};

static const char *const names[] = {"void", "i8", "u8", "i16", "i32", "i64", "f32", "bool", "u32", "u64"};
#define NAMES (sizeof names / sizeof names[0])

/* Reads "u8[16]" and returns the place behind it. */
static const char *read_type(const char *at, struct type *type)
{
    uint32_t length = 0;
    while (at[length] >= '0' && at[length] != '[') {
        length++;
    }
    type->dtype = 0;
    for (uint32_t i = 1; i < NAMES; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], at, length) == 0) {
            type->dtype = i;
        }
    }
    at += length;
    type->is_array = *at == '[';
    type->count = 0;
    if (type->is_array) {
        for (at++; *at >= '0' && *at <= '9'; at++) {
            type->count = 10u * type->count + (uint32_t)(*at - '0');
        }
        at += *at == ']';
    }
    return at;
}

static void say(struct solder_reply *reply, const char *text)
{
    solder_reply_bytes(reply, text, (uint32_t)strlen(text));
}

static void say_number(struct solder_reply *reply, uint32_t number)
{
    char digits[10];
    uint32_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    solder_reply_bytes(reply, digits + at, (uint32_t)sizeof digits - at);
}

static void say_type(struct solder_reply *reply, const struct type *type)
{
    say(reply, names[type->dtype]);
    if (type->is_array) {
        say(reply, "[");
        say_number(reply, type->count);
        say(reply, "]");
    }
}

static uint8_t refuse(struct solder_reply *reply, uint32_t number, const char *text)
{
    say(reply, "argument ");
    say_number(reply, number + 1u);
    say(reply, text);
    return SOLDER_WRONG_ARGUMENT;
}

static uint8_t refuse_type(struct solder_reply *reply, uint32_t number, const struct type *is, const struct type *must)
{
    (void)refuse(reply, number, " is ");
    say_type(reply, is);
    say(reply, " and must be ");
    say_type(reply, must);
    return SOLDER_WRONG_ARGUMENT;
}

/* A call's payload, taken apart from front to back. */
struct reader {
    const uint8_t *payload;
    uint32_t count;
    uint32_t at; /* where the next scalar or array begins */
};

/* Returns that many bytes of the payload, or NULL. They are in the decoder's buffer, which is aligned for them; numbers
   are in the processor's byte order, because all supported processors are little endian. */
static const uint8_t *take(struct reader *reader, uint32_t bytes)
{
    const uint32_t at = (reader->at + ALIGNMENT - 1u) & ~(ALIGNMENT - 1u);
    if (at > reader->count || bytes > reader->count - at) {
        return NULL;
    }
    reader->at = at + bytes;
    return reader->payload + at;
}

static int are_bools(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (bytes[i] > 1u) {
            return 0;
        }
    }
    return 1;
}

/* Finds one argument and holds it against what it must be. */
static uint8_t find_argument(struct reader *reader, uint32_t number, const struct type *must, void **place,
                             struct solder_reply *reply)
{
    const uint8_t *const head = reader->payload + HEAD_BYTES + number * ARGUMENT_BYTES;
    const uint32_t kind = head[1];
    const uint32_t word = solder_get32(head + 4);
    struct type is = {head[0] < NAMES ? head[0] : 0u, kind != SOLDER_ARGUMENT_SCALAR, word};
    const uint8_t *data = NULL;

    if (kind == SOLDER_ARGUMENT_HANDLE) {
        struct solder_array *const array = solder_find_array(word);
        if (array == NULL) {
            return refuse(reply, number, " is an array that was freed, or never made");
        }
        is.dtype = array->dtype;
        is.count = array->count;
        data = solder_array_data(array);
    }
    if (is.dtype != must->dtype || is.is_array != must->is_array || (is.is_array && is.count != must->count)) {
        return refuse_type(reply, number, &is, must);
    }
    const uint32_t elements = is.is_array ? is.count : 1u;
    if (data == NULL) {
        data = take(reader, elements * solder_element_bytes(is.dtype)); /* no more than the signature's array has */
    }
    if (data == NULL) {
        return SOLDER_BAD_LENGTH;
    }
    if (is.dtype == SOLDER_BOOL && !are_bools(data, elements)) {
        return refuse(reply, number, " is bool and must be 0 or 1");
    }
    *place = (void *)(uintptr_t)data;
    return SOLDER_OK;
}

static const char *without_spaces(const char *text)
{
    while (*text == ' ') {
        text++;
    }
    return text;
}

static const char *behind(const char *text, char mark)
{
    while (*text != mark && *text != '\0') {
        text++;
    }
    return *text == mark ? text + 1 : text;
}

/* Reads the signature after its first parenthesis. */
static uint8_t find_arguments(struct reader *reader, const char *signature, void **places, struct solder_reply *reply)
{
    const uint32_t given = solder_get16(reader->payload + 2);
    uint32_t number = 0;
    struct type must;

    if (reader->count < HEAD_BYTES + given * ARGUMENT_BYTES) {
        return SOLDER_BAD_LENGTH;
    }
    reader->at = HEAD_BYTES + given * ARGUMENT_BYTES;
    for (const char *at = without_spaces(signature); *at != ')' && *at != '\0' && number < SOLDER_MOST_ARGUMENTS;) {
        at = without_spaces(read_type(at, &must));
        if (must.dtype == 0) { /* (void) */
            break;
        }
        if (number < given) {
            const uint8_t status = find_argument(reader, number, &must, &places[number], reply);
            if (status != SOLDER_OK) {
                return status;
            }
        }
        number++;
        at = without_spaces(at + (*at == ','));
    }
    if (number != given) {
        say_number(reply, given);
        say(reply, " arguments are given and must be ");
        say_number(reply, number);
        return SOLDER_WRONG_ARGUMENT;
    }
    return SOLDER_OK;
}

uint8_t solder_call_by_number(const uint8_t *payload, uint32_t count, struct solder_reply *reply, uint32_t deadline_ms)
{
    const struct solder_function *const function = solder_numbered_function(solder_get16(payload));
    struct reader reader = {payload, count, 0};
    void *places[SOLDER_MOST_ARGUMENTS];
    struct type result;
    uint64_t value = 0;

    if (function == NULL) {
        return SOLDER_NO_SUCH_FUNCTION;
    }
    const char *const at = read_type(behind(function->text, ' '), &result);
    const uint8_t status = find_arguments(&reader, behind(at, '('), places, reply);
    if (status != SOLDER_OK) {
        return status;
    }
    solder_session_working();
    failure = NULL;
    (void)solder_port_deadline(deadline_ms);
    function->call(&value, places);
    (void)solder_port_deadline(0);
    if (failure != NULL) {
        say(reply, failure);
        return SOLDER_FUNCTION_FAILED;
    }
    solder_reply8(reply, result.dtype);
    solder_reply_bytes(reply, &value, solder_element_bytes(result.dtype));
    return SOLDER_OK;
}

#endif
