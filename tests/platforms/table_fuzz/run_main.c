/* One run of a table: run_main TABLE INPUTS ARENA_BYTES... prints the bytes of the outputs in hex. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "solder_protocol.h"
#include "solder_table.h"

extern const struct solder_kernel_set k_kernels;
const struct solder_kernel_set *const solder_kernel_sets[] = {&k_kernels};
const uint32_t solder_kernel_set_count = 1;

static uint8_t *memory_of(size_t bytes)
{
    void *found = NULL;
    return posix_memalign(&found, 64, bytes) == 0 ? found : NULL;
}

int main(int argc, char **argv)
{
    static uint8_t whole[1 << 22];
    FILE *const file = fopen(argv[1], "rb");
    FILE *const inputs = fopen(argv[2], "rb");
    if (argc < 4 || file == NULL || inputs == NULL) {
        return 2;
    }
    const uint32_t count = (uint32_t)fread(whole, 1, sizeof whole, file);
    uint8_t *const bytes = memory_of(count);
    uint8_t *arenas[4] = {NULL};
    uint32_t arena_bytes[4] = {0};
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = whole[i];
    }
    for (int i = 3; i < argc; i++) {
        arena_bytes[i - 3] = (uint32_t)atol(argv[i]);
        arenas[i - 3] = memory_of(arena_bytes[i - 3]);
        for (uint32_t at = 0; at < arena_bytes[i - 3]; at++) {
            arenas[i - 3][at] = 0xA5;
        }
    }
    const struct solder_table table = {bytes, count, arena_bytes, (uint32_t)argc - 3u};
    const uint8_t status = solder_table_check(&table);
    if (status != SOLDER_OK) {
        printf("status %d\n", status);
        return 3;
    }
    const struct solder_model *const model = solder_table_model(&table);
    for (int turn = 0; turn < 2; turn++) { /* the second finds nothing of the first */
        rewind(inputs);
        for (uint32_t i = 0; i < model->input_count; i++) {
            const struct solder_tensor *const tensor = &model->inputs[i];
            if (fread(arenas[tensor->arena] + tensor->arena_offset, 1, tensor->bytes, inputs) != tensor->bytes) {
                return 2;
            }
        }
        if (model->run(arenas) != 0) {
            return 4;
        }
    }
    for (uint32_t i = 0; i < model->output_count; i++) {
        const struct solder_tensor *const tensor = &model->outputs[i];
        for (uint32_t at = 0; at < tensor->bytes; at++) {
            printf("%02x", arenas[tensor->arena][tensor->arena_offset + at]);
        }
    }
    return 0;
}
