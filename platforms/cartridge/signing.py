"""Ed25519 keys of those who make cartridges, in PEM files; needs the package cryptography."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aot.distribution import pip_install
from aot.errors import InputError, ToolError
from platforms.cartridge.header import DIGEST_BYTES


def sign(cartridge: bytes, key_file: Path) -> bytes:
    """The cartridge, which ends with its SHA-256, with a signature of that behind it."""
    return cartridge + bytes(_private(key_file).sign(cartridge[-DIGEST_BYTES:]))


def public_key(key_file: Path) -> bytes:
    """The 32 bytes of a public key, from its own file or the private key's."""
    data = _read(key_file)
    if b"PRIVATE" in data:
        return bytes(_private(key_file).public_key().public_bytes_raw())
    serialization, ed25519 = _modules()
    try:
        key = serialization.load_pem_public_key(data)
    except ValueError as error:
        raise _no_key(key_file, "public") from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _no_key(key_file, "public")
    return bytes(key.public_bytes_raw())


def _private(key_file: Path) -> Any:
    serialization, ed25519 = _modules()
    try:
        key = serialization.load_pem_private_key(_read(key_file), None)
    except (ValueError, TypeError) as error:
        raise _no_key(key_file, "private") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _no_key(key_file, "private")
    return key


def _no_key(key_file: Path, kind: str) -> InputError:
    return InputError(
        f"the file holds no {kind} key of Ed25519 without a password",
        str(key_file),
        "openssl genpkey -algorithm ed25519 -out key.pem",
    )


def _read(key_file: Path) -> bytes:
    try:
        return key_file.read_bytes()
    except OSError as error:
        raise InputError(f"the key cannot be read: {error.strerror}", str(key_file)) from error


def _modules() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ToolError(
            "cartridges are signed by the Python package cryptography, which is not installed",
            hint=pip_install("sign"),
        ) from error
    return serialization, ed25519
