/* A stream of weights while it is being decoded: Golomb-Rice codes with a palette and runs of zeros.
 *
 * A stream is made of slices. A slice says how its values are coded and has chunks, each with the quotients of up
 * to twelve weights and of as many runs of zeros; their remainders follow in the chunk after it.
 */
#ifndef ETHOS_U_STREAM_H
#define ETHOS_U_STREAM_H

#include <stdint.h>

enum {
    MOST_SYMBOLS = 12,
    QUEUE = 64 /* of values that wait for their partners: never more than 8 + 12 + 12 */
};

struct bits {
    const uint8_t *bytes;
    uint64_t position, end; /* in bits */
    int is_beyond; /* somebody has read past the end */
};

struct queue {
    uint32_t values[QUEUE];
    uint32_t begin, end; /* of all that ever were in it */
};

/* Quotients that wait for their remainders. */
struct chunk {
    uint32_t quotients[MOST_SYMBOLS];
    uint32_t symbols;
};

/* Either side of a slice: weights, or runs of zeros. */
struct side {
    uint32_t count; /* of values in the slice */
    uint32_t quotients_read, values_read;
    uint32_t divisor; /* bits of a remainder */
    uint32_t carry; /* of a quotient that goes on in the next chunk */
    struct chunk chunk; /* the last that was read */
    struct queue queue;
};

struct ethos_u_stream {
    struct bits bits;
    int is_corrupted;
    int has_palette; /* some slice has set one */
    uint32_t palette[32];
    uint32_t palette_size, palette_bits, direct_offset;
    int has_zero_runs, is_uncoded, is_truncated;
    struct side weights, zeros;
    int waits_for_run; /* a run of zeros comes next */
    uint32_t zeros_left;
    uint32_t weights_left; /* in the slice, not given out yet */
};

/* The next weight of a stream; zero, and a flag in it, where it is corrupted. */
int32_t ethos_u_next_weight(struct ethos_u_stream *stream);

#endif
