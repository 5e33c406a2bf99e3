/* What a check of generated C may use. A check is `uint32_t CHECK(void)`: 0 where everything is right. */
#ifndef CHECK_H
#define CHECK_H

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

extern const struct check checks[];
extern const uint32_t check_count;

/* What the machine supplies. */
void check_print(const char *text);
void *check_allocate(uint32_t bytes);
void check_free_all(void);

#endif
