"""A packet: its kind, status, sequence number, session and payload."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from platforms.rpc.protocol import REPLY_BIT, Message, Notice, Status

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
