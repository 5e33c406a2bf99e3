/* Arrays of the host's in the device's free RAM: made, filled, read, handed to functions, freed.

   All of them are freed when a host sends hello: the previous host may have disappeared. */
#ifndef SOLDER_ARRAY_H
#define SOLDER_ARRAY_H

#include <stdint.h>

#include "solder_session.h"

#ifdef __cplusplus
extern "C" {
#endif

struct solder_heap {
    uint8_t *base; /* aligned to SOLDER_HEAP_ALIGNMENT */
    uint32_t bytes;
};
#define SOLDER_HEAP_ALIGNMENT 16u

/* Unused memory. A platform that knows some supplies this function; otherwise there is none, and
   a program may supply its own: static uint8_t spare[4096]. */
struct solder_heap solder_port_heap(void);

/* Bytes of one element of this type, or 0. */
uint32_t solder_element_bytes(uint32_t dtype);

/* The array with this handle, or NULL. */
struct solder_array {
    uint32_t next; /* the handle of the next one above in memory; 0: no next one */
    uint32_t dtype;
    uint32_t count;
    uint32_t bytes;
};
struct solder_array *solder_find_array(uint32_t handle);
uint8_t *solder_array_data(struct solder_array *array);

void solder_arrays_forget(void);

/* The requests. */
uint8_t solder_array_make(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_array_free(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_array_put(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_array_get(const uint8_t *payload, uint32_t count, struct solder_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
