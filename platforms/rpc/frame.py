"""Packets, and the frames that carry them: zero, COBS(packet + CRC-32), zero."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from platforms.rpc.protocol import CRC_BYTES, HEADER_BYTES, REPLY_BIT, Message, Notice, Status

# A packet: its kind, status, sequence number, session and payload.

_HEADER = struct.Struct("<BBHI")
SEQUENCE_MODULUS = 1 << 16


@dataclass(frozen=True, slots=True)
class Packet:
    kind: int
    sequence: int
    session: int
    payload: bytes = b""
    status: int = Status.OK

    def pack(self) -> bytes:
        return _HEADER.pack(self.kind, self.status, self.sequence, self.session) + self.payload

    @staticmethod
    def unpack(packet: bytes) -> Packet:
        kind, status, sequence, session = _HEADER.unpack_from(packet)
        return Packet(kind, sequence, session, packet[_HEADER.size :], status)

    def answers(self, request: Packet) -> bool:
        return self.kind == request.kind | REPLY_BIT and self._belongs_to(request)

    def is_working_on(self, request: Packet) -> bool:
        return self.kind == Notice.WORKING and self._belongs_to(request)

    def _belongs_to(self, request: Packet) -> bool:
        return (self.sequence, self.session) == (request.sequence, request.session)

    def __str__(self) -> str:
        """Formats the packet as a line of a trace."""
        ending = "" if self.status == Status.OK else f" {_name(Status, self.status)}"
        return (
            f"{kind_name(self.kind)} #{self.sequence} session {self.session:08x}{ending} "
            f"{len(self.payload)} B {self.payload[:32].hex()}{'...' if len(self.payload) > 32 else ''}"
        ).rstrip()


def kind_name(kind: int) -> str:
    """Returns the name of a kind: write, write reply, working, ..."""
    if kind & REPLY_BIT:
        return f"{_name(Message, kind & ~REPLY_BIT)} reply"
    return _name(Notice, kind) if kind in Notice._value2member_map_ else _name(Message, kind)


def _name(numbers: type[Message | Notice | Status], number: int) -> str:
    try:
        return numbers(number).name.lower().replace("_", " ")
    except ValueError:
        return f"unknown 0x{number:02x}"


LONGEST_BLOCK = 254  # data bytes after one COBS code
_CODES = [bytes([length + 1]) for length in range(LONGEST_BLOCK + 1)]
_NOTHING = _CODES[0]  # the block between two adjacent zeros
LONGEST_FRAME = 1 << 16  # limit for buffered bytes without a zero; devices send shorter frames


def encode_frame(packet: bytes) -> bytes:
    """Returns the bytes to send for a packet."""
    return b"\0" + cobs_encode(packet + zlib.crc32(packet).to_bytes(CRC_BYTES, "little")) + b"\0"


def cobs_encode(data: bytes) -> bytes:
    """Encodes data without zeros: each block starts with the distance to the zero that it replaces."""
    *ended, last = data.split(b"\0")
    blocks = [block for stretch in ended for block in _blocks(stretch)]
    rest = list(_blocks(last))
    if len(rest) > 1 and rest[-1] == _NOTHING:  # no zero is implied after a block of maximum length
        rest.pop()
    return b"".join((*blocks, *rest))


def _blocks(stretch: bytes) -> Iterator[bytes]:
    """Yields blocks of zero-free bytes: blocks of maximum length, then the rest."""
    while len(stretch) >= LONGEST_BLOCK:
        yield _CODES[-1] + stretch[:LONGEST_BLOCK]
        stretch = stretch[LONGEST_BLOCK:]
    yield _CODES[len(stretch)] + stretch


def cobs_decode(encoded: bytes) -> bytes | None:
    """Returns the data, or None if the last block is incomplete or contains a zero."""
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
    """Returns the packet between two zeros, or None if its checksum is wrong."""
    data = cobs_decode(encoded)
    if data is None or len(data) < HEADER_BYTES + CRC_BYTES:
        return None
    packet, crc = data[:-CRC_BYTES], data[-CRC_BYTES:]
    return packet if zlib.crc32(packet) == int.from_bytes(crc, "little") else None


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes between two zeros that are not a packet: a damaged frame, or unrelated text."""

    received: bytes


@dataclass(slots=True)
class Decoder:
    """Splits a byte stream at zeros. It recovers from damage at the next zero."""

    _pending: bytearray = field(default_factory=bytearray)

    def feed(self, received: bytes) -> list[bytes | Damage]:
        """Returns the packets and damaged parts that these bytes complete, in order."""
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
        """Returns the bytes received since the last zero."""
        return bytes(self._pending)
