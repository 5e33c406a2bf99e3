/* What a check of generated C may use. A check is `uint32_t CHECK(void)`: 0 where everything is right. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Memory full of garbage, at a multiple of four bytes, guarded at both ends; it is the check's until it returns. */
void *check_memory(uint32_t bytes);

/* 0 where the bytes are equal, else the number of the first that differs, counted from 1. */
uint32_t check_bytes(const void *made, const void *wanted, uint32_t bytes);

struct check {
    const char *name;
    uint32_t (*run)(void);
};

/* A tensor of a compiled model. */
struct check_tensor {
    const void *samples; /* one after the other */
    uint32_t bytes;      /* of one sample */
    uint32_t arena, offset;
};

/* A compiled model, and what it must make of each sample. */
struct check_model {
    const struct check_tensor *inputs, *outputs;
    const uint32_t *arena_bytes;
    uint32_t input_count, output_count, arena_count, sample_count;
    int32_t (*outside)(void *const *inputs, void *const *outputs, uint8_t *const *arenas);
    int32_t (*inside)(uint8_t **arenas);
    int32_t (*reset)(uint8_t *const *arenas); /* NULL without states */
};

/* Checks of compiled models: every sample for itself, with tensors outside its arenas and inside them; or all
   as one series in the same arenas, from a reset on, twice. */
uint32_t check_each_sample(const struct check_model *model);
uint32_t check_series(const struct check_model *model);

extern const struct check checks[];
extern const uint32_t check_count;

/* What the machine supplies. */
void check_print(const char *text);
void *check_allocate(uint32_t bytes);
void check_free_all(void);

#endif
