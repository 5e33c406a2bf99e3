/* SHA-256 (FIPS 180-4) of whole blocks in memory, and HMAC with it. */
#ifndef SOLDER_SHA256_H
#define SOLDER_SHA256_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOLDER_SHA256_BYTES 32u
#define SOLDER_SHA256_BLOCK 64u

/* `count` is a multiple of the block's bytes, less than half a gigabyte; what is hashed begins at a word's address. */
void solder_sha256(const uint32_t *from, uint32_t count, uint32_t digest[8]);

/* HMAC (RFC 2104) of one block with a key of 32 bytes. */
void solder_hmac_sha256(const uint32_t key[8], const uint32_t message[16], uint32_t digest[8]);

#ifdef __cplusplus
}
#endif

#endif
