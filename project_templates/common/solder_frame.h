/* Frames on the line: zero, COBS(packet + CRC-32), zero. Any damage loses at most the frames it touches. */
#ifndef SOLDER_FRAME_H
#define SOLDER_FRAME_H

#include <stdint.h>

#include "solder_protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SOLDER_FRAME_BYTES (SOLDER_HEADER_BYTES + SOLDER_PAYLOAD_BYTES + SOLDER_CRC_BYTES)

enum solder_decoded {
    SOLDER_DECODED_NOTHING, /* more bytes are needed */
    SOLDER_DECODED_PACKET,  /* bytes[0 .. length) is a packet; valid until the next byte is decoded */
    SOLDER_DECODED_DAMAGE   /* a frame ended that failed its check, was cut or was too long */
};

/* All zero is the state to start from. */
struct solder_decoder {
    /* A packet's payload begins at a multiple of 8, so that its data can be used in place. */
    uint8_t bytes[SOLDER_FRAME_BYTES] __attribute__((aligned(8)));
    uint32_t crc_state; /* of the bytes decoded so far, without start and end inversion */
    uint32_t count;     /* bytes decoded in this frame, also those beyond the buffer */
    uint32_t length;    /* of the last packet */
    uint8_t block_left; /* bytes to come before the next COBS code */
    uint8_t owes_zero;  /* the last block stands for a zero after it, if another block follows */
    uint8_t started;    /* a byte of this frame has come */
};

/* One byte from the line. */
enum solder_decoded solder_decode(struct solder_decoder *decoder, uint8_t byte);

/* A packet goes out in pieces, so that a reply's data are sent without a copy. */
struct solder_piece {
    const uint8_t *bytes;
    uint32_t count;
};
#define SOLDER_SEND_PIECES 3u /* header, reply, data */

typedef void (*solder_sink)(const uint8_t *bytes, uint32_t count);

/* Sends the frame of a packet, in chunks of at most 64 bytes. */
void solder_encode(const struct solder_piece pieces[SOLDER_SEND_PIECES], solder_sink sink);

/* CRC-32 (the one of zip and Ethernet) of more bytes; starts with 0. */
uint32_t solder_crc32(uint32_t crc, const uint8_t *bytes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
