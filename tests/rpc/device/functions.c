/* Functions that are called by name, of every type; and free RAM for arrays. */
#include "solder_function.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "solder_array.h"
#include "solder_port.h"

static int32_t blink(int32_t times, const uint8_t pattern[16])
{
    int32_t lit = 0;
    for (int i = 0; i < 16; i++) {
        lit += times * pattern[i];
    }
    return lit;
}
SOLDER_FUNCTION(blink, i32(i32, u8[16]));

static int64_t every_integer(int8_t a, uint8_t b, int16_t c, int32_t d, uint32_t e, int64_t f, uint64_t g, bool h)
{
    return (int64_t)a + b + c + d + (int64_t)e + f + (int64_t)g + h;
}
SOLDER_FUNCTION(every_integer, i64(i8, u8, i16, i32, u32, i64, u64, bool));

static void scale(float factor, float values[3000])
{
    for (int i = 0; i < 3000; i++) {
        values[i] *= factor;
    }
}
SOLDER_FUNCTION(scale, void(f32, f32[3000]));

static float sum(const float values[3000])
{
    float result = 0;
    for (int i = 0; i < 3000; i++) {
        result += values[i];
    }
    return result;
}
SOLDER_FUNCTION(sum, f32(f32[3000]));

static bool all(const bool of[3])
{
    return of[0] && of[1] && of[2];
}
SOLDER_FUNCTION(all, bool(bool[3]));

static uint8_t pin(uint8_t number)
{
    if (number > 7) {
        solder_fail("there are 8 pins, 0 to 7");
    }
    return number;
}
SOLDER_FUNCTION(pin, u8(u8));

static void restart(void)
{
    solder_port_reset();
}
SOLDER_FUNCTION(restart, void(void));

/* C looks functions up, too. */
static int32_t blink_once(void)
{
    const struct solder_function *const found = solder_find_function("blink", " i32( i32,u8[16])");
    int32_t times = 1;
    uint8_t pattern[16] = {1, 2};
    int32_t lit = -1;
    void *const arguments[] = {&times, pattern};
    if (found == NULL || solder_find_function("blink", NULL) != found) {
        solder_fail("blink is not found");
    } else if (solder_find_function("blink", "i32(i32, i8[16])") != NULL || solder_find_function("blin", NULL) != NULL) {
        solder_fail("another blink is found");
    } else {
        found->call(&lit, arguments);
    }
    return lit;
}
SOLDER_FUNCTION(blink_once, i32());

struct solder_heap solder_port_heap(void)
{
    static uint8_t memory[16400] __attribute__((aligned(SOLDER_HEAP_ALIGNMENT)));
    const struct solder_heap heap = {memory, sizeof memory - 3u};
    return heap;
}
