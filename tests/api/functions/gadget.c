/* Functions of a gadget that has no hardware: numbers and arrays of several types, and one that may fail. */
#include "solder_function.h"

#include <stdbool.h>

static int32_t weigh(int32_t times, const uint8_t pattern[16])
{
    int32_t weight = 0;
    if (times > 99) {
        solder_fail("100 times is too often");
        return 0;
    }
    for (int i = 0; i < 16; i++) {
        weight += times * pattern[i];
    }
    return weight;
}
SOLDER_FUNCTION(weigh, i32(i32, u8[16]));

static void amplify(float factor, float samples[600])
{
    for (int i = 0; i < 600; i++) {
        samples[i] *= factor;
    }
}
SOLDER_FUNCTION(amplify, void(f32, f32[600]));

static float peak(const float samples[600])
{
    float most = samples[0];
    for (int i = 1; i < 600; i++) {
        most = samples[i] > most ? samples[i] : most;
    }
    return most;
}
SOLDER_FUNCTION(peak, f32(f32[600]));

static float mixed(float a, int64_t b, const float c[3], uint64_t d, int8_t e, bool f)
{
    const float whole = (float)(b + (int64_t)d + e + f);
    return a + whole + c[2];
}
SOLDER_FUNCTION(mixed, f32(f32, i64, f32[3], u64, i8, bool));
