"""Saved states on the host: their header (codegen/c/arenas.py defines it), and whether they fit a model."""

from __future__ import annotations

from functools import reduce

from aot.errors import InputError

HEAD_BYTES, HEADER_BYTES = 28, 32  # the header is the head and a checksum
_FORMAT, _MODEL, _STATES, _SIZE = slice(0, 8), slice(8, 16), slice(16, 24), slice(24, 28)
_CHECKSUM = slice(HEAD_BYTES, HEADER_BYTES)


def size_in(head: bytes) -> int:
    """Returns the bytes of saved states with this head, including their header."""
    return int.from_bytes(head[_SIZE], "little")


def with_header(head: bytes, states: bytes) -> bytes:
    """Returns saved states: the header, then the bytes of all states."""
    return head + _checksum(states) + states


def _checksum(states: bytes) -> bytes:
    """Returns the FNV-1a hash, as <model>_save_state stores it."""
    found = reduce(lambda total, byte: (total ^ byte) * 16777619 & 0xFFFF_FFFF, states, 2166136261)
    return found.to_bytes(4, "little")


def require_fitting(saved: bytes, head: bytes, where: str = "") -> None:
    """Raises InputError unless the saved states are whole and of the model with this head."""
    if saved[_FORMAT] != head[_FORMAT]:
        raise InputError(
            "these bytes are not a saved state", where, hint="pass bytes that save_state returned"
        )
    if saved[_MODEL] != head[_MODEL]:
        its, this = saved[_MODEL].hex(), head[_MODEL].hex()
        raise InputError(f"the saved state is of the model with hash {its}, this one has {this}", where)
    if saved[_STATES] != head[_STATES] or saved[_SIZE] != head[_SIZE]:
        raise InputError(
            "the saved state is of this model with other states",
            where,
            hint="compile with the options and the version of Solder of the firmware that saved it",
        )
    if len(saved) != size_in(head):
        raise InputError(
            f"the saved state is damaged: it has {len(saved):,} bytes, this model's have {size_in(head):,}",
            where,
            hint="reset the model",
        )
    if saved[_CHECKSUM] != _checksum(saved[HEADER_BYTES:]):
        raise InputError(
            "the saved state is damaged: its bytes do not have the checksum in its header",
            where,
            hint="reset the model",
        )
