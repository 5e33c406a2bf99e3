/* Chooses the next token from the model's logits. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SAMPLER_MOST_TOP_K 64u

struct sampler {
    float temperature; /* 0: always the token with the largest logit */
    uint32_t top_k;    /* only the largest are drawn, 1 to SAMPLER_MOST_TOP_K */
    uint32_t state;    /* of the random numbers; not 0 */
};

/* The same seed gives the same numbers. */
void sampler_seed(struct sampler *sampler, uint32_t seed);

uint32_t sampler_choose(struct sampler *sampler, const float *logits, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
