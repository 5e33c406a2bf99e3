/* Runs every check and prints a line for each: its name, and 0 or the number of what is wrong. */
#include "check.h"

#include <string.h>

#ifdef SOLDER_LAYER_HOOK
#include "solder_model.h"
solder_layer_hook solder_on_layer;
#endif

#define GUARD_BYTES 16u
#define GUARD 0xC5u
#define OUTSIDE_WRITTEN 0xFFFFFFFFu
#define MOST_BLOCKS 64u

static struct {
    uint8_t *bytes;
    uint32_t count;
} blocks[MOST_BLOCKS];
static uint32_t block_count;
static uint32_t noise = 1;

void *check_memory(uint32_t bytes)
{
    uint8_t *const memory = check_allocate(bytes + 2 * GUARD_BYTES);

    memset(memory, GUARD, bytes + 2 * GUARD_BYTES);
    for (uint32_t i = 0; i < bytes; i++) {
        noise = noise * 1664525u + 1013904223u;
        memory[GUARD_BYTES + i] = (uint8_t)(noise >> 24);
    }
    blocks[block_count].bytes = memory;
    blocks[block_count++].count = bytes;
    return memory + GUARD_BYTES;
}

static uint32_t guards_are_whole(void)
{
    for (uint32_t b = 0; b < block_count; b++) {
        const uint8_t *const above = blocks[b].bytes + GUARD_BYTES + blocks[b].count;
        for (uint32_t i = 0; i < GUARD_BYTES; i++) {
            if (blocks[b].bytes[i] != GUARD || above[i] != GUARD) {
                return 0;
            }
        }
    }
    return 1;
}

uint32_t check_bytes(const void *made, const void *wanted, uint32_t bytes)
{
    const uint8_t *const a = made, *const b = wanted;
    uint32_t i = 0;

    while (i < bytes && a[i] == b[i]) {
        i++;
    }
    return i == bytes ? 0 : i + 1;
}

static void print_number(uint32_t number)
{
    char text[12] = " 0\n";
    uint32_t length = 1;

    for (uint32_t rest = number; rest >= 10; rest /= 10) {
        length++;
    }
    text[length + 1] = '\n';
    text[length + 2] = '\0';
    for (; length > 0; length--) {
        text[length] = (char)('0' + number % 10);
        number /= 10;
    }
    check_print(text);
}

int main(void)
{
    for (uint32_t i = 0; i < check_count; i++) {
        uint32_t wrong;

        check_print(checks[i].name);
        block_count = 0;
        wrong = checks[i].run();
        print_number(guards_are_whole() ? wrong : OUTSIDE_WRITTEN);
        check_free_all();
    }
    return 0;
}
