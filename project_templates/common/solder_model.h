/* The description of a compiled model for firmware that runs any model. */
#ifndef SOLDER_MODEL_H
#define SOLDER_MODEL_H

#include <stdint.h>

/* Element types; the numbers are part of the serial protocol. */
enum solder_dtype {
    SOLDER_I8 = 1,
    SOLDER_U8 = 2,
    SOLDER_I16 = 3,
    SOLDER_I32 = 4,
    SOLDER_I64 = 5,
    SOLDER_F32 = 6,
    SOLDER_BOOL = 7,
    SOLDER_U32 = 8,
    SOLDER_U64 = 9
};

struct solder_tensor {
    const char *name;
    const uint32_t *shape;
    uint32_t rank;
    uint32_t dtype;        /* enum solder_dtype */
    uint32_t arena;        /* in which of the model's arenas ... */
    uint32_t arena_offset; /* ... and its place before (inputs) or after (outputs) a run */
    uint32_t bytes;
};

/* Called after each row a layer has written when the model is built with SOLDER_LAYER_HOOK:
   which layer, and the bytes it wrote. */
typedef void (*solder_layer_hook)(uint32_t layer, const void *row, uint32_t bytes);
extern solder_layer_hook solder_on_layer; /* defined by the runtime; NULL: no listener */

/* The states that runs continue from. Saved, they are the head, four bytes of a checksum, and the bytes of each. */
struct solder_state {
    uint32_t arena; /* in which of the model's arenas, and its place there */
    uint32_t arena_offset;
    uint32_t bytes;
};

struct solder_states {
    uint8_t head[28]; /* names the model and its states */
    uint32_t count;
    const struct solder_state *each;
};

struct solder_model {
    const char *name;
    uint8_t hash[8]; /* first bytes of the archive's model hash */
    uint32_t arena_count;
    const uint32_t *arena_bytes; /* of each, the fastest first */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t layer_count;
    const struct solder_tensor *inputs;
    const struct solder_tensor *outputs;
    /* `arenas` is a `uint8_t *const *`, as solder_arenas in solder_firmware.h. */
    int32_t (*run)(void *arenas); /* inputs and outputs at their arena offsets */
    void (*reset_state)(void *arenas); /* state tensors to their initial values; NULL if there is none */
    const void *observed; /* SOLDER_OBSERVED_BYTES that runs have counted; NULL if they count nothing */
    void (*observe_ticks)(uint32_t ticks); /* counts the time of a run; NULL with it */
    const struct solder_states *states; /* NULL if there is none */
};

#endif
