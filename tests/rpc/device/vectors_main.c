/* Runs the framing vectors (vectors.h, generated from tests/vectors/frames.json) through the device's code. */
#include <stdio.h>
#include <string.h>

#include "solder_frame.h"

struct frame_vector {
    const char *name;
    const uint8_t *packet;
    uint32_t packet_count;
    const uint8_t *frame;
    uint32_t frame_count;
};
struct packet_vector {
    const uint8_t *bytes;
    uint32_t count;
};
struct stream_vector {
    const char *name;
    const uint8_t *bytes;
    uint32_t count;
    uint32_t packet_count;
    struct packet_vector packets[2];
    uint32_t damaged;
};
#include "vectors.h"

static uint8_t sent[4096];
static uint32_t sent_count;
static int failures;

static void collect(const uint8_t *bytes, uint32_t count)
{
    memcpy(sent + sent_count, bytes, count);
    sent_count += count;
}

static void expect(int holds, const char *name, const char *what)
{
    if (!holds) {
        printf("%s: %s\n", name, what);
        failures++;
    }
}

/* The same packet in pieces of every kind: all at once, and cut at `cut`. */
static void check_encode(const struct frame_vector *vector, uint32_t cut)
{
    const struct solder_piece pieces[SOLDER_SEND_PIECES] = {
        {vector->packet, cut}, {NULL, 0}, {vector->packet + cut, vector->packet_count - cut}};
    sent_count = 0;
    solder_encode(pieces, collect);
    expect(sent_count == vector->frame_count && memcmp(sent, vector->frame, sent_count) == 0, vector->name, "encoded");
}

static void check_decode(struct solder_decoder *decoder, const struct stream_vector *vector)
{
    uint32_t found = 0;
    uint32_t damaged = 0;
    for (uint32_t i = 0; i < vector->count; i++) {
        const enum solder_decoded decoded = solder_decode(decoder, vector->bytes[i]);
        damaged += decoded == SOLDER_DECODED_DAMAGE;
        if (decoded == SOLDER_DECODED_PACKET) {
            expect(found < vector->packet_count && decoder->length == vector->packets[found].count &&
                       memcmp(decoder->bytes, vector->packets[found].bytes, decoder->length) == 0,
                   vector->name, "packet");
            found++;
        }
    }
    expect(found == vector->packet_count, vector->name, "number of packets");
    expect(damaged == vector->damaged, vector->name, "number of damaged frames");
}

int main(void)
{
    static struct solder_decoder fresh;
    for (uint32_t i = 0; i < frame_vector_count; i++) {
        check_encode(&frame_vectors[i], 0);
        check_encode(&frame_vectors[i], frame_vectors[i].packet_count);
        check_encode(&frame_vectors[i], frame_vectors[i].packet_count / 2);
    }
    for (uint32_t i = 0; i < stream_vector_count; i++) {
        memset(&fresh, 0, sizeof fresh);
        check_decode(&fresh, &stream_vectors[i]);
    }
    return failures != 0;
}
