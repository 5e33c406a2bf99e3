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

#endif
