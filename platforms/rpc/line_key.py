"""The key of a line: a client must use it to answer a challenge."""

from __future__ import annotations

import hmac
import struct
from pathlib import Path

from aot.errors import InputError
from platforms.rpc.protocol import KEY_BYTES

_OPENS = 2  # matches solder_lock.c
_MESSAGE_BYTES = 64
_MAKE_ONE = "create one with: openssl rand -hex 32 > line.key"


def answer_to(challenge: bytes, key: bytes) -> bytes:
    """Returns the HMAC-SHA256 that unlocks the line."""
    message = struct.pack("<I", _OPENS) + challenge
    return hmac.digest(key, message.ljust(_MESSAGE_BYTES, b"\0"), "sha256")


def read_line_key(path: Path) -> bytes:
    """Reads a key file: 32 bytes, or 64 hexadecimal digits. Raises InputError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the line key cannot be read: {error.strerror}", str(path), _MAKE_ONE) from error
    if len(data) == KEY_BYTES:
        return data
    try:
        key = bytes.fromhex(data.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(
            f"a line key must have {KEY_BYTES} bytes, or {2 * KEY_BYTES} hexadecimal digits, "
            f"not {len(data):,} bytes",
            str(path),
            _MAKE_ONE,
        )
    return key
