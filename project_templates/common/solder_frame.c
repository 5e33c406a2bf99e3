/* COBS and CRC-32: the decoder reads single bytes, the encoder sends pieces without a frame buffer. */
#include "solder_frame.h"

#define PIECES (SOLDER_SEND_PIECES + 1u) /* the packet's pieces and its CRC */
#define CHUNK_BYTES 64u
#define LONGEST_BLOCK 254u
/* The value of the CRC register after any packet followed by its own CRC. */
#define CRC_RESIDUE 0xDEBB20E3u

/* Half a byte at a time: 64 bytes of table instead of 1024. */
static const uint32_t crc_table[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
    0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};

static uint32_t crc_step(uint32_t state, uint8_t byte)
{
    state ^= byte;
    state = crc_table[state & 15u] ^ (state >> 4);
    return crc_table[state & 15u] ^ (state >> 4);
}

uint32_t solder_crc32(uint32_t crc, const uint8_t *bytes, uint32_t count)
{
    uint32_t state = ~crc;
    for (uint32_t i = 0; i < count; i++) {
        state = crc_step(state, bytes[i]);
    }
    return ~state;
}

static void begin_frame(struct solder_decoder *decoder)
{
    decoder->crc_state = 0xFFFFFFFFu;
    decoder->count = 0;
    decoder->block_left = 0;
    decoder->owes_zero = 0;
    decoder->started = 0;
}

static void put(struct solder_decoder *decoder, uint8_t byte)
{
    if (decoder->count < SOLDER_FRAME_BYTES) {
        decoder->bytes[decoder->count] = byte;
        decoder->crc_state = crc_step(decoder->crc_state, byte);
        decoder->count++;
    } else {
        decoder->count = SOLDER_FRAME_BYTES + 1u; /* too long: never a packet */
    }
}

static enum solder_decoded end_frame(struct solder_decoder *decoder)
{
    enum solder_decoded result = SOLDER_DECODED_DAMAGE;
    if (!decoder->started) {
        result = SOLDER_DECODED_NOTHING; /* zeros between frames */
    } else if (decoder->block_left == 0 && decoder->count <= SOLDER_FRAME_BYTES &&
               decoder->count >= SOLDER_HEADER_BYTES + SOLDER_CRC_BYTES && decoder->crc_state == CRC_RESIDUE) {
        decoder->length = decoder->count - SOLDER_CRC_BYTES;
        result = SOLDER_DECODED_PACKET;
    }
    begin_frame(decoder);
    return result;
}

enum solder_decoded solder_decode(struct solder_decoder *decoder, uint8_t byte)
{
    if (byte == 0) {
        return end_frame(decoder);
    }
    if (!decoder->started) {
        begin_frame(decoder);
        decoder->started = 1;
    }
    if (decoder->block_left > 0) {
        decoder->block_left--;
        put(decoder, byte);
        return SOLDER_DECODED_NOTHING;
    }
    if (decoder->owes_zero) {
        put(decoder, 0);
    }
    decoder->block_left = (uint8_t)(byte - 1u);
    decoder->owes_zero = byte <= LONGEST_BLOCK;
    return SOLDER_DECODED_NOTHING;
}

/* The encoder's position in the packet. */
struct cursor {
    const struct solder_piece *piece;
    const struct solder_piece *end;
    uint32_t offset;
};

static int at_end(struct cursor *cursor)
{
    while (cursor->piece != cursor->end && cursor->offset == cursor->piece->count) {
        cursor->piece++;
        cursor->offset = 0;
    }
    return cursor->piece == cursor->end;
}

static uint8_t next_byte(struct cursor *cursor)
{
    return cursor->piece->bytes[cursor->offset++];
}

/* Bytes from here to the next zero, the end, or the longest block. */
static uint32_t block_length(struct cursor cursor)
{
    uint32_t length = 0;
    while (length < LONGEST_BLOCK && !at_end(&cursor) && next_byte(&cursor) != 0) {
        length++;
    }
    return length;
}

struct outbox {
    solder_sink sink;
    uint32_t count;
    uint8_t bytes[CHUNK_BYTES];
};

static void flush(struct outbox *out)
{
    out->sink(out->bytes, out->count);
    out->count = 0;
}

static void emit(struct outbox *out, uint8_t byte)
{
    out->bytes[out->count++] = byte;
    if (out->count == CHUNK_BYTES) {
        flush(out);
    }
}

/* Sends one block; returns whether another one follows. */
static int emit_block(struct outbox *out, struct cursor *cursor)
{
    const uint32_t length = block_length(*cursor);
    emit(out, (uint8_t)(length + 1u));
    for (uint32_t i = 0; i < length; i++) {
        (void)at_end(cursor);
        emit(out, next_byte(cursor));
    }
    if (at_end(cursor)) {
        return 0;
    }
    if (length < LONGEST_BLOCK) {
        (void)next_byte(cursor); /* the zero that the block stands for */
    }
    return 1;
}

void solder_encode(const struct solder_piece pieces[SOLDER_SEND_PIECES], solder_sink sink)
{
    struct solder_piece all[PIECES];
    uint8_t crc_bytes[SOLDER_CRC_BYTES];
    uint32_t crc = 0;
    for (uint32_t i = 0; i < SOLDER_SEND_PIECES; i++) {
        all[i] = pieces[i];
        crc = solder_crc32(crc, pieces[i].bytes, pieces[i].count);
    }
    for (uint32_t i = 0; i < SOLDER_CRC_BYTES; i++) {
        crc_bytes[i] = (uint8_t)(crc >> (8u * i));
    }
    all[SOLDER_SEND_PIECES].bytes = crc_bytes;
    all[SOLDER_SEND_PIECES].count = SOLDER_CRC_BYTES;

    struct cursor cursor = {all, all + PIECES, 0};
    struct outbox out = {sink, 0, {0}};
    emit(&out, 0);
    while (emit_block(&out, &cursor)) {
    }
    emit(&out, 0);
    if (out.count > 0) {
        flush(&out);
    }
}
