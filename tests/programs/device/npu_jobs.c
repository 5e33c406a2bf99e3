/* Runs jobs of the Ethos-U model from stdin, each region in a block of its own, and writes what they give to stdout. */
#include "ethos_u_model.h"

#include <stdio.h>
#include <stdlib.h>

static int read_all(void *bytes, size_t size)
{
    return fread(bytes, 1, size, stdin) == size;
}

static uint32_t read_word(void)
{
    uint8_t b[4];
    if (!read_all(b, 4)) {
        exit(3);
    }
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void write_word(uint32_t word)
{
    for (uint32_t i = 0; i < 4; ++i) {
        putchar((int)(word >> 8 * i & 0xFF));
    }
}

static uint8_t *read_block(uint32_t size)
{
    uint8_t *const block = malloc(size ? size : 1);
    if (!block || !read_all(block, size)) {
        exit(3);
    }
    return block;
}

static void run(void)
{
    struct ethos_u_job job = { 0 };
    struct ethos_u_fault fault;
    uint8_t *blocks[ETHOS_U_REGIONS] = { 0 };
    job.weights_count = read_word();
    job.most_steps = read_word();
    job.payload_bytes = read_word();
    uint8_t *const payload = read_block(job.payload_bytes);
    job.payload = payload;
    job.weights = malloc(job.weights_count * sizeof *job.weights + 1);
    for (uint32_t i = read_word(); i > 0; --i) {
        const uint32_t number = read_word(), is_writable = read_word(), size = read_word();
        struct ethos_u_region *const region = &job.regions[number];
        region->size = size;
        blocks[number] = read_block(size);
        region->bytes = blocks[number];
        region->writable = is_writable ? blocks[number] : 0;
    }
    ethos_u_run(&job, &fault);
    write_word((uint32_t)fault.status);
    write_word(fault.position);
    write_word(fault.code);
    for (uint32_t i = 0; i < ETHOS_U_REGIONS; ++i) {
        if (job.regions[i].writable) {
            fwrite(job.regions[i].bytes, 1, job.regions[i].size, stdout);
        }
        free(blocks[i]);
    }
    free(job.weights);
    free(payload);
}

int main(void)
{
    for (uint32_t jobs = read_word(); jobs > 0; --jobs) {
        run();
    }
    return 0;
}
