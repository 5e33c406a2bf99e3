/* The functions of math.h that zig's run-time library has; see string.h. */
#ifndef MATH_H
#define MATH_H

float ceilf(float x);
float cosf(float x);
float exp2f(float x);
float expf(float x);
float fabsf(float x);
float floorf(float x);
float fmaf(float x, float y, float z);
float fmaxf(float x, float y);
float fminf(float x, float y);
float fmodf(float x, float y);
float log10f(float x);
float log2f(float x);
float logf(float x);
float roundf(float x);
float sinf(float x);
float sqrtf(float x);
float tanf(float x);
float truncf(float x);

/* Rounds halves to even. The library lacks this one. */
static inline float rintf(float x)
{
    const float below = floorf(x), rest = x - below;
    const int is_up = rest > 0.5f || (rest == 0.5f && fmodf(below, 2.0f) != 0.0f);
    return __builtin_copysignf(is_up ? below + 1.0f : below, x);
}

#endif
