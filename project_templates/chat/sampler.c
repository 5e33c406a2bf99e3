/* Greedy choice, or a draw among the largest logits. */
#include "sampler.h"

#include <math.h>

#define MIXED 0x9E3779B9u /* spreads small seeds over all bits */

void sampler_seed(struct sampler *sampler, uint32_t seed)
{
    sampler->state = seed * MIXED + 1u;
    if (sampler->state == 0) {
        sampler->state = MIXED;
    }
}

/* A number from 0 to below 1: xorshift32. */
static float draw(struct sampler *sampler)
{
    sampler->state ^= sampler->state << 13;
    sampler->state ^= sampler->state >> 17;
    sampler->state ^= sampler->state << 5;
    return (float)(sampler->state >> 8) / 16777216.0f;
}

/* The tokens with the largest logits, largest first. Returns how many there are. */
static uint32_t largest(const float *logits, uint32_t count, uint32_t *chosen, uint32_t wanted)
{
    uint32_t found = 0;

    for (uint32_t token = 0; token < count; token++) {
        uint32_t at;

        if (found == wanted && !(logits[token] > logits[chosen[found - 1u]])) {
            continue;
        }
        at = found < wanted ? found++ : found - 1u;
        while (at > 0 && logits[token] > logits[chosen[at - 1u]]) {
            chosen[at] = chosen[at - 1u];
            at--;
        }
        chosen[at] = token;
    }
    return found;
}

uint32_t sampler_choose(struct sampler *sampler, const float *logits, uint32_t count)
{
    uint32_t chosen[SAMPLER_MOST_TOP_K];
    float chances[SAMPLER_MOST_TOP_K];
    const int is_greedy = !(sampler->temperature > 0.0f);
    const uint32_t found = largest(logits, count, chosen, is_greedy ? 1u : sampler->top_k);
    float total = 0.0f;
    float left;

    if (is_greedy) {
        return chosen[0];
    }
    for (uint32_t i = 0; i < found; i++) {
        chances[i] = expf((logits[chosen[i]] - logits[chosen[0]]) / sampler->temperature);
        total += chances[i];
    }
    left = draw(sampler) * total;
    for (uint32_t i = 0; i + 1u < found; i++) {
        left -= chances[i];
        if (left < 0.0f) {
            return chosen[i];
        }
    }
    return chosen[found - 1u];
}
