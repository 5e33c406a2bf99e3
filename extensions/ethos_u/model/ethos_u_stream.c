/* Decodes weights one by one: slices, chunks, palettes and runs of zeros. */
#include "ethos_u_stream.h"

/* ---- Bits ------------------------------------------------------------------------------------------------ */

static uint32_t take(struct bits *bits, uint32_t count)
{
    uint32_t value = 0;
    if (bits->end - bits->position < count) {
        bits->is_beyond = 1;
        bits->position = bits->end;
        return 0;
    }
    for (uint32_t i = 0; i < count; ++i, ++bits->position) {
        value |= (uint32_t)(bits->bytes[bits->position / 8] >> bits->position % 8 & 1) << i;
    }
    return value;
}

/* ---- Slices ---------------------------------------------------------------------------------------------- */

enum { NO_ZERO_RUNS = 6, END_OF_STREAM = 7, UNCODED = 7 /* values of a fixed width */, MOST_VALUE = 511 };

static void push(struct ethos_u_stream *stream, struct queue *queue, uint32_t value)
{
    if (queue->end - queue->begin == QUEUE) {
        stream->is_corrupted = 1;
        return;
    }
    queue->values[queue->end++ % QUEUE] = value;
}

static void read_palette(struct ethos_u_stream *stream)
{
    stream->direct_offset = take(&stream->bits, 5);
    stream->palette_size = take(&stream->bits, 5);
    stream->palette_size += stream->palette_size > 0;
    stream->palette_bits = take(&stream->bits, 3) + 2;
    for (uint32_t i = 0; i < stream->palette_size; ++i) {
        stream->palette[i] = take(&stream->bits, stream->palette_bits);
    }
    stream->has_palette = 1;
}

static uint32_t uncoded_bits(const struct ethos_u_stream *stream)
{
    uint32_t bits = 0;
    if (stream->palette_size == 0) {
        return stream->palette_bits;
    }
    while ((uint32_t)1 << bits < stream->palette_size) {
        ++bits;
    }
    return bits;
}

/* Skips ends of streams; they are aligned to bytes. */
static uint32_t first_of_slice(struct ethos_u_stream *stream)
{
    uint32_t divisor = take(&stream->bits, 3);
    while (divisor == END_OF_STREAM && !stream->bits.is_beyond) {
        take(&stream->bits, (uint32_t)((8 - stream->bits.position % 8) % 8));
        stream->has_palette = 0;
        divisor = take(&stream->bits, 3);
    }
    return divisor;
}

static void begin_slice(struct ethos_u_stream *stream)
{
    const uint32_t zero_divisor = first_of_slice(stream);
    const int had_zero_runs = stream->has_zero_runs;
    const struct side nothing_read = { 0 };
    stream->weights = stream->zeros = nothing_read;
    stream->has_zero_runs = zero_divisor != NO_ZERO_RUNS;
    stream->zeros.divisor = zero_divisor;
    stream->weights.count = take(&stream->bits, 15) + 1;
    stream->weights.divisor = take(&stream->bits, 3);
    stream->is_truncated = (int)take(&stream->bits, 1);
    const int has_new_palette = (int)take(&stream->bits, 1);
    if (has_new_palette) {
        read_palette(stream);
    } else if (!stream->has_palette || had_zero_runs != stream->has_zero_runs) {
        stream->is_corrupted = 1;
    }
    stream->is_uncoded = stream->weights.divisor == UNCODED;
    if (stream->is_uncoded) {
        stream->weights.divisor = uncoded_bits(stream);
    }
    if ((stream->has_zero_runs && zero_divisor > 3) || (!stream->is_uncoded && stream->weights.divisor > 5)) {
        stream->is_corrupted = 1;
    }
    stream->zeros.count = stream->has_zero_runs ? stream->weights.count + (has_new_palette ? 1 : 0) : 0;
    stream->waits_for_run = stream->has_zero_runs && has_new_palette;
    stream->weights_left = stream->weights.count;
}

/* ---- Chunks ---------------------------------------------------------------------------------------------- */

static void read_zero_quotients(struct ethos_u_stream *stream)
{
    struct side *const side = &stream->zeros;
    const uint32_t symbols = side->divisor < 3 ? MOST_SYMBOLS : 8;
    const uint32_t unary = take(&stream->bits, symbols);
    for (uint32_t i = 0; i < symbols; ++i) {
        if (unary >> i & 1) {
            ++side->carry;
        } else {
            side->chunk.quotients[side->chunk.symbols++] = side->carry;
            side->carry = 0;
        }
    }
    side->quotients_read += side->chunk.symbols;
}

static void read_weight_quotients(struct ethos_u_stream *stream, uint32_t unary)
{
    struct side *const side = &stream->weights;
    const uint32_t symbols = stream->is_uncoded && side->divisor > 5 ? 8 : MOST_SYMBOLS;
    uint32_t ones = 0;
    for (uint32_t i = 0; i < symbols; ++i) {
        ones += unary >> i & 1;
    }
    uint32_t twos = take(&stream->bits, ones);
    for (uint32_t i = 0; i < symbols; ++i) {
        uint32_t code = unary >> i & 1;
        if (code) {
            code += twos & 1;
            twos >>= 1;
        }
        side->carry += code;
        if (code < 2 || stream->is_truncated) {
            side->chunk.quotients[side->chunk.symbols++] = side->carry;
            side->carry = 0;
        }
    }
    side->quotients_read += side->chunk.symbols;
}

static void read_remainders(struct ethos_u_stream *stream, struct side *side, const struct chunk *last)
{
    for (uint32_t i = 0; i < last->symbols && side->values_read < side->count; ++i, ++side->values_read) {
        push(stream, &side->queue, (last->quotients[i] << side->divisor) + take(&stream->bits, side->divisor));
    }
}

/* Reads a chunk; its runs of zeros may wait for weights, and the other way round. */
static void read_chunk(struct ethos_u_stream *stream)
{
    struct side *const weights = &stream->weights, *const zeros = &stream->zeros;
    const struct chunk last_weights = weights->chunk, last_zeros = zeros->chunk;
    const int64_t ahead
        = stream->has_zero_runs ? (int64_t)weights->quotients_read - (int64_t)zeros->quotients_read : 0;
    const int has_weights = ahead < 8 && weights->quotients_read < weights->count;
    const int has_zeros = stream->has_zero_runs && ahead >= 0 && zeros->quotients_read < zeros->count;
    const uint32_t unary = has_weights && !stream->is_uncoded ? take(&stream->bits, MOST_SYMBOLS) : 0;
    weights->chunk.symbols = zeros->chunk.symbols = 0;
    if (has_zeros) {
        read_zero_quotients(stream);
    }
    if (has_weights) {
        read_weight_quotients(stream, unary);
    }
    read_remainders(stream, weights, &last_weights);
    read_remainders(stream, zeros, &last_zeros);
    if (!has_weights && !has_zeros && last_weights.symbols == 0 && last_zeros.symbols == 0) {
        stream->is_corrupted = 1; /* nothing more can come */
    }
}

static uint32_t pop(struct ethos_u_stream *stream, struct queue *queue)
{
    while (queue->begin == queue->end && !stream->is_corrupted && !stream->bits.is_beyond) {
        read_chunk(stream);
    }
    if (queue->begin == queue->end) {
        stream->is_corrupted = 1;
        return 0;
    }
    return queue->values[queue->begin++ % QUEUE];
}

/* ---- Weights --------------------------------------------------------------------------------------------- */

static int32_t weight_of(struct ethos_u_stream *stream, uint32_t value)
{
    if (value > MOST_VALUE) {
        stream->is_corrupted = 1;
        return 0;
    }
    const uint32_t code
        = value < stream->palette_size ? stream->palette[value] : value - stream->palette_size + stream->direct_offset;
    const int32_t magnitude = (int32_t)(code >> 1);
    return code & 1 ? -magnitude : magnitude;
}

int32_t ethos_u_next_weight(struct ethos_u_stream *stream)
{
    while (!stream->is_corrupted && !stream->bits.is_beyond) {
        if (stream->zeros_left > 0) {
            --stream->zeros_left;
            return 0;
        }
        if (stream->waits_for_run) {
            stream->zeros_left = pop(stream, &stream->zeros.queue);
            stream->waits_for_run = 0;
        } else if (stream->weights_left > 0) {
            --stream->weights_left;
            stream->waits_for_run = stream->has_zero_runs;
            return weight_of(stream, pop(stream, &stream->weights.queue));
        } else {
            begin_slice(stream);
        }
    }
    stream->is_corrupted = 1;
    return 0;
}
