/* Signatures of cartridges: yours to fill in. Until then every cartridge is refused.

   The key is that of deploy new --public-key: 32 bytes of Ed25519, whose message is the digest; or 65 of P-256 (0x04, x,
   y), whose signature of the digest is r and s. Return SOLDER_SIGNATURE_VALID only for a signature that holds: libraries
   have it that 0 means valid, or that 1 does. deploy new --verify has this file for some of them. */
#include "solder_cartridge.h"

enum solder_signature solder_port_verify(const uint8_t *key, const uint8_t signature[64], const uint8_t digest[32])
{
    (void)key;
    (void)signature;
    (void)digest;
    return SOLDER_SIGNATURE_UNCHECKED;
}
