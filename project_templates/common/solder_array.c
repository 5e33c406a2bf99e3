/* The free RAM as a list of arrays, lowest first; a new one uses the first gap that is large enough.

   A handle is the array's offset in the free RAM plus one, so that 0 is invalid. */
#include "solder_array.h"

#ifdef SOLDER_FUNCTIONS

#include <stddef.h>
#include <string.h>

#include "solder_bytes.h"
#include "solder_model.h" /* enum solder_dtype */

#define HEAD_BYTES ((uint32_t)sizeof(struct solder_array)) /* 16, as the alignment */

static uint32_t first; /* the handle of the lowest array */

__attribute__((weak)) struct solder_heap solder_port_heap(void)
{
    const struct solder_heap none = {NULL, 0};
    return none;
}

uint32_t solder_element_bytes(uint32_t dtype)
{
    static const uint8_t bytes[] = {0, 1, 1, 2, 4, 8, 4, 1, 4, 8}; /* by enum solder_dtype */
    return dtype < sizeof bytes ? bytes[dtype] : 0;
}

static struct solder_array *at(uint32_t handle)
{
    return (struct solder_array *)(void *)(solder_port_heap().base + (handle - 1u));
}

uint8_t *solder_array_data(struct solder_array *array)
{
    return (uint8_t *)array + HEAD_BYTES;
}

/* A handle comes from the host: it is good if it is in the list. */
struct solder_array *solder_find_array(uint32_t handle)
{
    for (uint32_t known = first; known != 0; known = at(known)->next) {
        if (known == handle) {
            return at(known);
        }
    }
    return NULL;
}

void solder_arrays_forget(void)
{
    first = 0;
}

static uint32_t aligned(uint32_t bytes)
{
    return (bytes + SOLDER_HEAP_ALIGNMENT - 1u) & ~(SOLDER_HEAP_ALIGNMENT - 1u);
}

/* Finds the first gap for that many bytes and their head: its offset, and the link that will lead to the new array.
   Returns NULL if there is none; `largest` is then the size that would fit. */
static uint32_t *find_gap(uint32_t wanted, uint32_t *offset, uint32_t *largest)
{
    const uint32_t heap_bytes = solder_port_heap().bytes;
    uint32_t *link = &first;
    uint32_t low = 0;
    *largest = 0;
    for (;;) {
        const uint32_t high = *link != 0 ? *link - 1u : heap_bytes;
        const uint32_t room = high - low < HEAD_BYTES ? 0 : high - low - HEAD_BYTES;
        if (room >= wanted && high - low >= HEAD_BYTES) {
            *offset = low;
            return link;
        }
        *largest = room > *largest ? room : *largest;
        if (*link == 0) {
            return NULL;
        }
        struct solder_array *const next = at(*link);
        low = aligned(*link - 1u + HEAD_BYTES + next->bytes);
        low = low < heap_bytes ? low : heap_bytes;
        link = &next->next;
    }
}

uint8_t solder_array_make(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const uint32_t dtype = payload[0];
    const uint32_t elements = solder_get32(payload + 1);
    const uint32_t size = solder_element_bytes(dtype);
    uint32_t offset;
    uint32_t largest;
    (void)count;
    if (size == 0) {
        return SOLDER_WRONG_ARGUMENT;
    }
    const uint64_t bytes = (uint64_t)elements * size;
    uint32_t *const link = find_gap(bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes, &offset, &largest);
    if (link == NULL) {
        solder_reply32(reply, largest);
        return SOLDER_NO_ROOM;
    }
    const struct solder_array array = {*link, dtype, elements, (uint32_t)bytes};
    *link = offset + 1u;
    *at(*link) = array;
    memset(solder_array_data(at(*link)), 0, array.bytes);
    solder_reply32(reply, *link);
    return SOLDER_OK;
}

uint8_t solder_array_free(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    const uint32_t handle = solder_get32(payload);
    (void)count;
    (void)reply;
    for (uint32_t *link = &first; *link != 0; link = &at(*link)->next) {
        if (*link == handle) {
            *link = at(handle)->next;
            return SOLDER_OK;
        }
    }
    return SOLDER_NO_SUCH_ARRAY;
}

static uint8_t *part(const uint8_t *payload, uint32_t wanted, uint8_t *status)
{
    struct solder_array *const array = solder_find_array(solder_get32(payload));
    const uint32_t offset = solder_get32(payload + 4);
    if (array == NULL) {
        *status = SOLDER_NO_SUCH_ARRAY;
        return NULL;
    }
    if (offset > array->bytes || wanted > array->bytes - offset) {
        *status = SOLDER_OUT_OF_RANGE;
        return NULL;
    }
    *status = SOLDER_OK;
    return solder_array_data(array) + offset;
}

uint8_t solder_array_put(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    uint8_t status;
    const uint32_t bytes = count - SOLDER_PUT_HEADER_BYTES;
    uint8_t *const to = part(payload, bytes, &status);
    (void)reply;
    if (to != NULL) {
        memcpy(to, payload + SOLDER_PUT_HEADER_BYTES, bytes);
    }
    return status;
}

uint8_t solder_array_get(const uint8_t *payload, uint32_t count, struct solder_reply *reply)
{
    uint8_t status;
    const uint32_t bytes = solder_get16(payload + 8);
    (void)count;
    reply->body = part(payload, bytes, &status);
    reply->body_count = reply->body != NULL ? bytes : 0;
    return status;
}

#endif
