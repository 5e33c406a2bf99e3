/* SHA-256, as short as it can be said: a cartridge is hashed once when it comes and once after each start. */
#include "solder_sha256.h"

#if defined SOLDER_CARTRIDGES || defined SOLDER_LOCK

#include <string.h>

static const uint32_t rounds[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

static uint32_t turned(uint32_t x, uint32_t by)
{
    return (x >> by) | (x << (32u - by));
}

/* All processors that run this are little endian, SHA-256 is not. */
static void turn_words(uint32_t *words, const uint32_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        words[i] = __builtin_bswap32(from[i]);
    }
}

/* Not inlined, which would take more code. */
static __attribute__((noinline)) void copy_state(uint32_t *to, const uint32_t *from)
{
    memcpy(to, from, 8u * sizeof *to);
}

/* The message schedule is computed on demand, in a ring of 16 words. */
static void mix_block(uint32_t *state, const uint32_t *block)
{
    uint32_t words[16];
    uint32_t v[8];
    copy_state(v, state);
    for (uint32_t i = 0; i < 64u; i++) {
        uint32_t *const word = &words[i & 15u];
        if (i < 16u) {
            *word = __builtin_bswap32(block[i]);
        } else {
            const uint32_t a = words[(i - 15u) & 15u];
            const uint32_t b = words[(i - 2u) & 15u];
            *word += (turned(a, 7) ^ turned(a, 18) ^ (a >> 3)) + words[(i - 7u) & 15u] +
                     (turned(b, 17) ^ turned(b, 19) ^ (b >> 10));
        }
        const uint32_t first = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) +
                               (v[6] ^ (v[4] & (v[5] ^ v[6]))) + rounds[i] + *word;
        const uint32_t second = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) +
                                ((v[0] & v[1]) | (v[2] & (v[0] | v[1])));
        memmove(v + 1, v, 7u * sizeof v[0]);
        v[4] += first;
        v[0] = first + second;
    }
    for (uint32_t i = 0; i < 8u; i++) {
        state[i] += v[i];
    }
}

static const uint32_t start[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                  0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};

#endif
#ifdef SOLDER_CARTRIDGES

void solder_sha256(const uint32_t *from, uint32_t count, uint32_t digest[8])
{
    uint32_t last[16] = {0x80u}; /* after whole blocks: a one, zeros, and the count of bits */
    last[15] = __builtin_bswap32(count << 3);
    copy_state(digest, start);
    for (uint32_t done = 0; done < count; done += SOLDER_SHA256_BLOCK) {
        mix_block(digest, from);
        from += 16;
    }
    mix_block(digest, last);
    turn_words(digest, digest, 8);
}

#endif
#ifdef SOLDER_LOCK

#define INNER 0x36363636u
#define OUTER 0x5c5c5c5cu

/* The state after a block of the key, XORed with the pad. */
static void begin_keyed(uint32_t *state, const uint32_t *key, uint32_t pad)
{
    uint32_t block[16];
    for (uint32_t i = 0; i < 16u; i++) {
        block[i] = (i < 8u ? key[i] : 0u) ^ pad;
    }
    copy_state(state, start);
    mix_block(state, block);
}

void solder_hmac_sha256(const uint32_t key[8], const uint32_t message[16], uint32_t digest[8])
{
    uint32_t last[16] = {0x80u};
    uint32_t outer[16] = {0};
    last[15] = __builtin_bswap32(2u * 8u * SOLDER_SHA256_BLOCK);
    begin_keyed(digest, key, INNER);
    mix_block(digest, message);
    mix_block(digest, last);
    turn_words(outer, digest, 8); /* the digest, a one, zeros, and the count of bits in one block */
    outer[8] = 0x80u;
    outer[15] = __builtin_bswap32(8u * (SOLDER_SHA256_BLOCK + SOLDER_SHA256_BYTES));
    begin_keyed(digest, key, OUTER);
    mix_block(digest, outer);
    turn_words(digest, digest, 8);
}

#endif
