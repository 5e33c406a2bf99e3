/* Signatures of cartridges, verified by the PSA Crypto API: Mbed TLS, TF-M, a maker's library.

   Mbed TLS has ECDSA with P-256 and no Ed25519; other implementations have both. */
#include <psa/crypto.h>

#include "solder_cartridge.h"

#if SOLDER_CARTRIDGE_KEY == 32 /* Ed25519: the digest is the message that is signed */
#define ALGORITHM PSA_ALG_PURE_EDDSA
#define FAMILY PSA_ECC_FAMILY_TWISTED_EDWARDS
#define USAGE PSA_KEY_USAGE_VERIFY_MESSAGE
#define VERIFY psa_verify_message
#else
#define ALGORITHM PSA_ALG_ECDSA(PSA_ALG_SHA_256)
#define FAMILY PSA_ECC_FAMILY_SECP_R1
#define USAGE PSA_KEY_USAGE_VERIFY_HASH
#define VERIFY psa_verify_hash
#endif

enum solder_signature solder_port_verify(const uint8_t *key, const uint8_t signature[64], const uint8_t digest[32])
{
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_key_id_t id;
    psa_set_key_type(&attributes, PSA_KEY_TYPE_ECC_PUBLIC_KEY(FAMILY));
    psa_set_key_algorithm(&attributes, ALGORITHM);
    psa_set_key_usage_flags(&attributes, USAGE);
    if (psa_crypto_init() != PSA_SUCCESS ||
        psa_import_key(&attributes, key, SOLDER_CARTRIDGE_KEY, &id) != PSA_SUCCESS) {
        return SOLDER_SIGNATURE_UNCHECKED;
    }
    const psa_status_t status = VERIFY(id, ALGORITHM, digest, 32u, signature, 64u);
    (void)psa_destroy_key(id);
    return status == PSA_SUCCESS                   ? SOLDER_SIGNATURE_VALID
           : status == PSA_ERROR_INVALID_SIGNATURE ? SOLDER_SIGNATURE_WRONG
                                                   : SOLDER_SIGNATURE_UNCHECKED;
}
