/* Signatures of cartridges, verified by libsodium. */
#include <sodium.h>

#include "solder_cartridge.h"

enum solder_signature solder_port_verify(const uint8_t *key, const uint8_t signature[64], const uint8_t digest[32])
{
    if (sodium_init() < 0) {
        return SOLDER_SIGNATURE_UNCHECKED;
    }
    return crypto_sign_verify_detached(signature, digest, 32u, key) == 0 ? SOLDER_SIGNATURE_VALID
                                                                         : SOLDER_SIGNATURE_WRONG;
}
