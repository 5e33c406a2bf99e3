"""The key of a line: who answers a challenge with it is let in."""

from __future__ import annotations

import hmac
import struct
from pathlib import Path

from aot.errors import InputError
from platforms.rpc.protocol import KEY_BYTES

_OPENS = 2  # as in solder_lock.c
_MESSAGE_BYTES = 64
_MAKE_ONE = "openssl rand -hex 32 > line.key   makes one"


def answer_to(challenge: bytes, key: bytes) -> bytes:
    """The HMAC-SHA256 that opens the line."""
    message = struct.pack("<I", _OPENS) + challenge
    return hmac.digest(key, message.ljust(_MESSAGE_BYTES, b"\0"), "sha256")


def read_line_key(path: Path) -> bytes:
    """The key in a file, as its 32 bytes or as 64 hexadecimal digits. Raises InputError."""
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
            f"a line key has {KEY_BYTES} bytes, or {2 * KEY_BYTES} hexadecimal digits; "
            f"this file has {len(data):,} bytes",
            str(path),
            _MAKE_ONE,
        )
    return key
