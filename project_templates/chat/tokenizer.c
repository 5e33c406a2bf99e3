/* Joins the pair with the lowest rank until no pair of neighbors is known. */
#include "tokenizer.h"

#include <string.h>

#define NO_PAIR 0xFFFFu
#define NOT_FOUND 0xFFFFFFFFu

/* The place of a pair in the sorted table. */
static uint32_t place_of(token_t left, token_t right)
{
    const uint32_t wanted = (uint32_t)left << 16 | right;
    uint32_t low = 0;
    uint32_t high = vocabulary.merges;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2u;

        if (vocabulary.pairs[middle] < wanted) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low < vocabulary.merges && vocabulary.pairs[low] == wanted ? low : NOT_FOUND;
}

static uint16_t rank_of(token_t left, token_t right)
{
    const uint32_t place = place_of(left, right);

    return place == NOT_FOUND ? NO_PAIR : vocabulary.ranks[place];
}

int32_t tokenizer_encode(
    const uint8_t *bytes, uint32_t count, token_t *tokens, uint16_t *ranks, uint32_t *unknown)
{
    for (uint32_t i = 0; i < count; i++) {
        const int32_t token = vocabulary.of_byte[bytes[i]];

        if (token < 0) {
            *unknown = i;
            return -1;
        }
        tokens[i] = (token_t)token;
    }
    for (uint32_t i = 0; i + 1u < count; i++) {
        ranks[i] = rank_of(tokens[i], tokens[i + 1u]);
    }
    for (;;) {
        uint16_t best = NO_PAIR;
        uint32_t at = 0;

        for (uint32_t i = 0; i + 1u < count; i++) {
            if (ranks[i] < best) {
                best = ranks[i];
                at = i;
            }
        }
        if (best == NO_PAIR) {
            return (int32_t)count;
        }
        tokens[at] = vocabulary.joined[place_of(tokens[at], tokens[at + 1u])];
        count--;
        memmove(&tokens[at + 1u], &tokens[at + 2u], (count - at - 1u) * sizeof *tokens);
        memmove(&ranks[at], &ranks[at + 1u], (count - at - 1u) * sizeof *ranks);
        if (at > 0) {
            ranks[at - 1u] = rank_of(tokens[at - 1u], tokens[at]);
        }
        if (at + 1u < count) {
            ranks[at] = rank_of(tokens[at], tokens[at + 1u]);
        }
    }
}

const uint8_t *tokenizer_text(token_t token, uint32_t *length)
{
    const uint32_t begin = token > 0 ? vocabulary.text_ends[token - 1u] : 0;

    *length = vocabulary.text_ends[token] - begin;
    return &vocabulary.text[begin];
}
