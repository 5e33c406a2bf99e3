/* Models that are tables: no code, but the order of their layers' rows, which kernel of the firmware computes each,
   with which pointers, and their constants. Built if the project defines SOLDER_TABLES. */
#ifndef SOLDER_TABLE_H
#define SOLDER_TABLE_H

#include <stdint.h>

#include "solder_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The memory that a kernel reaches through a pointer, or through each of several. */
struct solder_kernel_pointers {
    uint32_t bytes;
    uint8_t count;
    uint8_t align;
    uint8_t is_written;
};

/* A kernel with its sizes, named by a hash of its C and of these. */
struct solder_kernel {
    uint32_t id[2];
    void (*run)(void *const *pointers);
    const struct solder_kernel_pointers *pointers;
    uint16_t kinds; /* of pointers */
    uint16_t count; /* all its pointers */
};

/* The kernels of a compiled model; cartridges.c of the project lists those of the firmware. */
struct solder_kernel_set {
    const struct solder_kernel *kernels;
    uint32_t count;
};
extern const struct solder_kernel_set *const solder_kernel_sets[];
extern const uint32_t solder_kernel_set_count;

struct solder_table {
    const uint8_t *bytes; /* at a multiple of 16 */
    uint32_t count;
    const uint32_t *arena_bytes;
    uint32_t arena_count; /* 4 at most */
};

/* Checks that a run of the table reads and writes only its constants and the arenas. Returns
   SOLDER_OK, SOLDER_CARTRIDGE_KERNEL if the firmware lacks one of its kernels, or SOLDER_CARTRIDGE_TABLE. */
uint8_t solder_table_check(const struct solder_table *table);

/* The model of a table that has been checked; there is one at a time. */
const struct solder_model *solder_table_model(const struct solder_table *table);

#ifdef __cplusplus
}
#endif

#endif
