/* A step of an SVDF by CMSIS-NN, with a memory of 8 bits. */
#ifndef CMSIS_NN_SVDF_H
#define CMSIS_NN_SVDF_H

#include <stdint.h>

struct cmsis_nn_svdf_shape {
    int32_t depth, steps, rank, units;
    int32_t x_zero, y_zero;
    int32_t feature_mult, feature_shift, y_mult, y_shift;
    int32_t kept_least, kept_most, y_least, y_most;
};

/* Memories are [step][rank][unit], the oldest step first: `y` is `memory` without its first step and with what x
   adds, `y1` what the filters make of it. Weights lie [unit][rank][depth], filters [unit][rank][step]. */
void cmsis_nn_svdf(
    const int8_t *x,
    const int8_t *memory,
    int8_t *y,
    int8_t *y1,
    const int8_t *w,
    const int8_t *filters,
    const int32_t *sums,
    const int32_t *bias,
    int32_t *scratch,
    const struct cmsis_nn_svdf_shape *shape);

#endif
