"""Keys for signing cartridges, in PEM files: Ed25519, or ECDSA with P-256.

Signing needs the package cryptography; reading a public key does not.
"""

from __future__ import annotations

import binascii
from pathlib import Path
from typing import Any

from aot.distribution import pip_install
from aot.errors import InputError, ToolError
from platforms.cartridge.header import DIGEST_BYTES

ED25519_BYTES, P256_BYTES = 32, 65
# DER prefixes of public keys (RFC 8410, RFC 5480).
_BEFORE_KEY = {
    ED25519_BYTES: bytes.fromhex("302a300506032b6570032100"),
    P256_BYTES: bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200"),
}
_HALF = 32  # bytes of each of r and s in a P-256 signature


def sign(cartridge: bytes, key_file: Path) -> bytes:
    """Returns the cartridge, which must end with its SHA-256, with a signature of that hash appended."""
    return cartridge + _signature(cartridge[-DIGEST_BYTES:], _private(key_file))


def _signature(digest: bytes, key: Any) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    if not isinstance(key, ec.EllipticCurvePrivateKey):
        return bytes(key.sign(digest))
    made = key.sign(digest, ec.ECDSA(utils.Prehashed(hashes.SHA256())))
    return b"".join(number.to_bytes(_HALF, "big") for number in utils.decode_dss_signature(made))


def public_key(key_file: Path) -> bytes:
    """Returns the public key in a public or private key file: 32 bytes for Ed25519, 65 for P-256."""
    data = _read(key_file)
    der = _public_der(_private(key_file)) if b"PRIVATE" in data else _der(data)
    for size, before in _BEFORE_KEY.items():
        if len(der) == len(before) + size and der.startswith(before):
            return der[-size:]
    raise _no_key(key_file, "public")


def _der(pem: bytes) -> bytes:
    """Returns the DER public key in a PEM file, or b"" if there is none."""
    begin, end = b"-----BEGIN PUBLIC KEY-----", b"-----END PUBLIC KEY-----"
    try:
        return binascii.a2b_base64(pem.split(begin)[1].split(end)[0])
    except (IndexError, binascii.Error):
        return b""


def _public_der(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization

    encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return bytes(key.public_key().public_bytes(encoding, form))


def _private(key_file: Path) -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    except ImportError as error:
        raise ToolError(
            "private keys need the Python package cryptography, which is not installed",
            hint=f"{pip_install('sign')}\n"
            "or openssl pkey -in key.pem -pubout -out public.pem   if you need the public key only",
        ) from error
    try:
        key = serialization.load_pem_private_key(_read(key_file), None)
    except (ValueError, TypeError) as error:
        raise _no_key(key_file, "private") from error
    is_p256 = isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1)
    if not (is_p256 or isinstance(key, ed25519.Ed25519PrivateKey)):
        raise _no_key(key_file, "private")
    return key


def _no_key(key_file: Path, kind: str) -> InputError:
    return InputError(
        f"the file holds no {kind} Ed25519 or P-256 key without a password",
        str(key_file),
        "openssl genpkey -algorithm ed25519 -out key.pem",
    )


def _read(key_file: Path) -> bytes:
    try:
        return key_file.read_bytes()
    except OSError as error:
        raise InputError(f"the key cannot be read: {error.strerror}", str(key_file)) from error
