"""Encodes and decodes frames on the line: zero, COBS(packet + CRC-32), zero. Decoding is incremental."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from platforms.rpc.protocol import CRC_BYTES, HEADER_BYTES

LONGEST_BLOCK = 254  # bytes after one COBS code
_CODES = [bytes([length + 1]) for length in range(LONGEST_BLOCK + 1)]
_NOTHING = _CODES[0]  # the block of a zero right after another
LONGEST_FRAME = 1 << 16  # encoded bytes without a zero that are kept; no device sends longer frames


def encode_frame(packet: bytes) -> bytes:
    """The bytes to send for a packet."""
    return b"\0" + cobs_encode(packet + zlib.crc32(packet).to_bytes(CRC_BYTES, "little")) + b"\0"


def cobs_encode(data: bytes) -> bytes:
    """Data without zeros: each block starts with the distance to the zero that ended it."""
    *ended, last = data.split(b"\0")
    blocks = [block for stretch in ended for block in _blocks(stretch)]
    rest = list(_blocks(last))
    if len(rest) > 1 and rest[-1] == _NOTHING:  # after a longest block no zero is understood
        rest.pop()
    return b"".join((*blocks, *rest))


def _blocks(stretch: bytes) -> Iterator[bytes]:
    """Blocks of bytes without a zero: the longest ones, and what is left."""
    while len(stretch) >= LONGEST_BLOCK:
        yield _CODES[-1] + stretch[:LONGEST_BLOCK]
        stretch = stretch[LONGEST_BLOCK:]
    yield _CODES[len(stretch)] + stretch


def cobs_decode(encoded: bytes) -> bytes | None:
    """The data, or None where the last block is cut or a zero stands inside."""
    blocks = []
    at = 0
    while at < len(encoded):
        code = encoded[at]
        block = encoded[at + 1 : at + code]
        if code == 0 or len(block) != code - 1 or 0 in block:
            return None
        at += code
        blocks.append(block if code > LONGEST_BLOCK or at == len(encoded) else block + b"\0")
    return b"".join(blocks)


def decode_frame(encoded: bytes) -> bytes | None:
    """The packet between two zeros, or None where it fails its check."""
    data = cobs_decode(encoded)
    if data is None or len(data) < HEADER_BYTES + CRC_BYTES:
        return None
    packet, crc = data[:-CRC_BYTES], data[-CRC_BYTES:]
    return packet if zlib.crc32(packet) == int.from_bytes(crc, "little") else None


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes between two zeros that are not a packet: a damaged frame, or text from something else."""

    received: bytes


@dataclass(slots=True)
class Decoder:
    """Cuts the stream at its zeros. Never stops: the next zero starts afresh."""

    _pending: bytearray = field(default_factory=bytearray)

    def feed(self, received: bytes) -> list[bytes | Damage]:
        """The packets and damaged stretches that these bytes complete, in order."""
        *ended, rest = received.split(b"\0")
        found = []
        for stretch in ended:
            found += self._end(bytes(self._pending) + stretch)
            self._pending.clear()
        self._pending += rest
        if len(self._pending) > LONGEST_FRAME:
            found.append(Damage(bytes(self._pending)))
            self._pending.clear()
        return found

    @staticmethod
    def _end(encoded: bytes) -> list[bytes | Damage]:
        if not encoded:
            return []
        packet = decode_frame(encoded)
        return [Damage(encoded) if packet is None else packet]

    @property
    def unfinished(self) -> bytes:
        """The bytes that have come since the last zero."""
        return bytes(self._pending)
