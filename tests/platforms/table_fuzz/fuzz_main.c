/* Tables with changed numbers against solder_table.c: what it takes is run, in memory that ends where it says.

   fuzz_main TABLE STRUCTURE_BYTES ARENA_BYTES COUNT SEED   prints how many ran, and how many were refused */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solder_protocol.h"
#include "solder_table.h"

extern const struct solder_kernel_set digits_kernels;
const struct solder_kernel_set *const solder_kernel_sets[] = {&digits_kernels};
const uint32_t solder_kernel_set_count = 1;

static uint64_t state;

static uint32_t chosen(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* Numbers at which something begins or ends, or any. */
static uint32_t number(uint32_t before)
{
    const uint32_t some[] = {0u,          1u,          before + 1u,    before - 1u, before * 2u, 0x7Fu,      0xFFu,
                             0xFFFFu,     0x8000u,     0xFFFFFFFFu,    0x80000000u, 0x10000000u, 0x1FFFFFFFu, 0xF0000000u,
                             chosen(64u), chosen(4096u), chosen(65536u), before ^ (1u << chosen(32u))};
    return some[chosen(sizeof some / sizeof some[0])];
}

/* Half-words and words of the structure mostly, bytes of the constants sometimes. */
static void change(uint8_t *bytes, uint32_t structure, uint32_t count)
{
    const uint32_t kind = chosen(10u);
    if (kind == 0) {
        bytes[chosen(count)] = (uint8_t)chosen(256u);
    } else if (kind < 7u) {
        uint16_t half;
        uint8_t *const at = bytes + chosen(structure / 2u) * 2u;
        memcpy(&half, at, sizeof half);
        half = (uint16_t)number(half);
        memcpy(at, &half, sizeof half);
    } else {
        uint32_t word;
        uint8_t *const at = bytes + chosen(structure / 4u) * 4u;
        memcpy(&word, at, sizeof word);
        word = number(word);
        memcpy(at, &word, sizeof word);
    }
}

static uint8_t *memory_of(size_t bytes)
{
    void *found = NULL;
    if (posix_memalign(&found, 32, bytes) != 0) {
        exit(2);
    }
    return found;
}

/* What a server does with a model: names and shapes are told, inputs written, outputs read. */
static uint32_t use(const struct solder_model *model, uint8_t **arenas)
{
    size_t seen = strlen(model->name);
    for (uint32_t i = 0; i < model->input_count + model->output_count; i++) {
        const int is_input = i < model->input_count;
        const struct solder_tensor *const tensor =
            is_input ? &model->inputs[i] : &model->outputs[i - model->input_count];
        seen += strlen(tensor->name);
        for (uint32_t axis = 0; axis < tensor->rank; axis++) {
            seen += tensor->shape[axis];
        }
        memset(arenas[tensor->arena] + tensor->arena_offset, 0x55, tensor->bytes);
    }
    return (uint32_t)seen + (uint32_t)model->run(arenas);
}

int main(int argc, char **argv)
{
    static uint8_t whole[1 << 20];
    if (argc != 6) {
        return 2;
    }
    FILE *const file = fopen(argv[1], "rb");
    if (file == NULL) {
        return 2;
    }
    const uint32_t count = (uint32_t)fread(whole, 1, sizeof whole, file);
    fclose(file);
    const uint32_t structure = (uint32_t)atol(argv[2]);
    const uint32_t arena_bytes[] = {(uint32_t)atol(argv[3])};
    const long tables = atol(argv[4]);
    state = (uint64_t)atol(argv[5]);
    long ran = 0;
    long lacking = 0;
    uint32_t seen = 0;
    for (long n = 0; n < tables; n++) {
        const uint32_t kept = chosen(20u) == 0 ? chosen(count) : count;
        uint8_t *bytes = memory_of(kept == 0 ? 1 : kept);
        uint8_t *arena = memory_of(arena_bytes[0]);
        uint8_t *arenas[] = {arena};
        memcpy(bytes, whole, kept);
        for (uint32_t changes = n == 0 ? 0 : 1u + chosen(4u); changes > 0 && kept >= structure; changes--) {
            change(bytes, structure, kept);
        }
        const struct solder_table table = {bytes, kept, arena_bytes, 1};
        const uint8_t status = solder_table_check(&table);
        lacking += status == SOLDER_CARTRIDGE_KERNEL;
        if (status == SOLDER_OK) {
            seen += use(solder_table_model(&table), arenas);
            ran++;
        } else if (status != SOLDER_CARTRIDGE_KERNEL && status != SOLDER_CARTRIDGE_TABLE) {
            return 3;
        }
        free(bytes);
        free(arena);
    }
    printf("%ld ran, %ld lacked a kernel, %ld were refused; %u\n", ran, lacking, tables - ran - lacking, seen & 1u);
    return 0;
}
