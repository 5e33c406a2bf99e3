/* Turns text into the model's tokens and back: byte pairs, joined in the order in which the tokenizer learned them. */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t token_t;

/* The tables of vocabulary.c. */
struct vocabulary {
    uint32_t tokens;
    uint32_t merges;
    token_t begin;             /* the first token of every text */
    token_t end;               /* ends a text */
    const int32_t *of_byte;    /* the token of each byte, or -1 */
    const uint8_t *text;       /* of all tokens, one after the other */
    const uint32_t *text_ends; /* the end of each token's text */
    const uint32_t *pairs;     /* left token in the upper half, right one in the lower; sorted */
    const uint16_t *ranks;     /* of each pair: the lowest is joined first */
    const token_t *joined;     /* the token of each pair */
};
extern const struct vocabulary vocabulary;

/* Writes the tokens of `count` bytes to `tokens`, which has room for `count`; `ranks` is memory of the same size.
   Returns the number of tokens. If a byte is in no token, returns -1 and sets *unknown to its place. */
int32_t tokenizer_encode(
    const uint8_t *bytes, uint32_t count, token_t *tokens, uint16_t *ranks, uint32_t *unknown);

/* Returns the text of a token and its length; that of begin and end is empty. */
const uint8_t *tokenizer_text(token_t token, uint32_t *length);

#ifdef __cplusplus
}
#endif

#endif
