/* Cartridges: models that replace another in running firmware. Two slots hold them, so that the one that
   runs is never overwritten; the built-in model is always available.

   With the application's own transport:

       solder_cartridge_begin();
       while (...) { status = solder_cartridge_take(offset, bytes, count); }   in order; what came before is skipped
       status = solder_cartridge_finish();      between runs: checks it, tries it, and swaps or keeps the old one

   and once before the first run, which finds the newest cartridge that is whole and has passed its test:

       solder_cartridge_start();

   Each returns SOLDER_OK or why not (solder_protocol.h). solder_models[0] is the model that runs. Built if the
   project defines SOLDER_CARTRIDGES, as projects with slots do: anyone who may load a cartridge can run code. */
#ifndef SOLDER_CARTRIDGE_H
#define SOLDER_CARTRIDGE_H

#include <stdint.h>

#include "solder_session.h"

#ifdef __cplusplus
extern "C" {
#endif

void solder_cartridge_start(void);
uint8_t solder_cartridge_begin(void);
uint8_t solder_cartridge_take(uint32_t offset, const uint8_t *bytes, uint32_t count);
uint8_t solder_cartridge_finish(void);
/* Between runs: returns to the cartridge before the last update, and erases the current one. */
uint8_t solder_cartridge_previous(void);

/* The version of the model that runs. */
uint32_t solder_cartridge_running(void);

/* The slot whose cartridge runs, 0 or 1; SOLDER_BUILT_IN if none does. */
extern uint32_t solder_cartridge_slot;
#define SOLDER_BUILT_IN 2u

/* Set by the project (cartridges.c). */
extern const char solder_cartridge_core[32]; /* whose code runs here; or the structure whose weights are taken */
extern const char solder_cartridge_product[28]; /* whose cartridges are taken */
/* Of the model that is built in. What runs makes way for the same version or a later one; where the project defines
   SOLDER_DOWNGRADES, for any. */
extern const uint32_t solder_cartridge_version;

/* If the project defines SOLDER_WEIGHTS, cartridges hold no code but the weights of the first model, which has none
   until the first has come. They are read in place, or copied to the program's own memory, which it announces
   before it starts: 1 if it has space for them, aligned as the model requires. */
extern const uint32_t solder_weights_bytes;
void solder_weights_lie_at(const void *place);
int solder_weights_copy_to(void *memory, uint32_t bytes);

/* What the platform supplies: memory for two cartridges that keeps its content when the power goes, as far as it can.
   Code is executed in place. Erased memory reads as 0xFF, and is written once, in the order of addresses: chunks as
   they come, then three records of 8 bytes, each at a multiple of 32. Both functions return 0, or another number. */
struct solder_slots {
    uint8_t *base[2]; /* at multiples of 64 */
    uint32_t bytes;   /* of each */
};
#define SOLDER_RECORD_BYTES 32u
extern struct solder_slots solder_slots;
int solder_port_erase(uint32_t slot);
int solder_port_program(uint8_t *to, const uint8_t *bytes, uint32_t count);
/* Makes written bytes visible to instruction fetches: caches, barriers. */
void solder_port_sync_code(const uint8_t *code, uint32_t bytes);

#ifdef SOLDER_CARTRIDGE_KEY
/* The public key for signed cartridges. The project defines how many bytes it has: 32 of Ed25519, or 65 of
   ECDSA with P-256 (0x04, x, y). */
extern const uint8_t solder_cartridge_key[SOLDER_CARTRIDGE_KEY];

/* None is 0, 1 or -1: a body that hands on what a library returns accepts nothing. */
enum solder_signature {
    SOLDER_SIGNATURE_VALID = 0x5A3C,
    SOLDER_SIGNATURE_WRONG = 0x2D96,
    SOLDER_SIGNATURE_UNCHECKED = 0x7169 /* the library cannot check it */
};

/* Whether the key's owner signed this SHA-256. By Ed25519 it is the message; by P-256 the hash, and the signature is r
   and s. A program supplies this function; deploy new --verify writes it for some libraries. */
enum solder_signature solder_port_verify(const uint8_t *key, const uint8_t signature[64], const uint8_t digest[32]);
#endif

/* The requests. */
uint8_t solder_cartridge_ask(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_cartridge_put(const uint8_t *payload, uint32_t count, struct solder_reply *reply);
uint8_t solder_cartridge_swap(const uint8_t *payload, uint32_t count, struct solder_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
