/* Signatures of cartridges, verified by Monocypher 4. Put its files monocypher.c, monocypher.h, monocypher-ed25519.c and
   monocypher-ed25519.h into src/. */
#include <monocypher-ed25519.h>

#include "solder_cartridge.h"

enum solder_signature solder_port_verify(const uint8_t *key, const uint8_t signature[64], const uint8_t digest[32])
{
    return crypto_ed25519_check(signature, key, digest, 32u) == 0 ? SOLDER_SIGNATURE_VALID : SOLDER_SIGNATURE_WRONG;
}
