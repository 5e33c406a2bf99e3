/* tiny: y[i] = x[i] + 1 on four int8, written by hand to the C interface of a compiled model. */
#ifndef TINY_H
#define TINY_H

#include <stdint.h>

#define TINY_ARENA_BYTES 8u
#define TINY_ALIGN __attribute__((aligned(4)))
#define TINY_X_OFFSET 0u
#define TINY_Y_OFFSET 4u

struct tiny_inputs {
    const int8_t *x;
};
struct tiny_outputs {
    int8_t *y;
};

int32_t tiny_run(const struct tiny_inputs *in, const struct tiny_outputs *out, void *arena);

#endif
