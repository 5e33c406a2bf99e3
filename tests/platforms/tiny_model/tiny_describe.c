#include "solder_model.h"
#include "tiny.h"

static const uint32_t shape[2] = {1, 4};
static const struct solder_tensor inputs[1] = {{"x", shape, 2, SOLDER_I8, 0, TINY_X_OFFSET, 4}};
static const struct solder_tensor outputs[1] = {{"y", shape, 2, SOLDER_I8, 0, TINY_Y_OFFSET, 4}};

static const uint32_t arena_bytes[] = {TINY_ARENA_BYTES};

static int32_t run(void *memory)
{
    uint8_t *const *arenas = memory;
    uint8_t *bytes = arenas[0];
    const struct tiny_inputs in = {(const int8_t *)&bytes[TINY_X_OFFSET]};
    const struct tiny_outputs out = {(int8_t *)&bytes[TINY_Y_OFFSET]};

    return tiny_run(&in, &out, bytes);
}

extern const struct solder_model tiny_model;
const struct solder_model tiny_model = {
    "tiny", {1, 2, 3, 4, 5, 6, 7, 8}, 1, arena_bytes, 1, 1, 1, inputs, outputs, run, 0, 0, 0, 0,
};
