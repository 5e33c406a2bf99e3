"""Writes every packet on a line as a line of text, for `--trace FILE`."""

from __future__ import annotations

import time
from typing import TextIO

from platforms.rpc.frame import Damage, Decoder, Packet
from platforms.transport.base import Clock, Transport


class TraceTransport(Transport):
    """Wraps another line. The caller owns `out`."""

    def __init__(self, line: Transport, out: TextIO, clock: Clock = time.monotonic) -> None:
        self.name = line.name
        self.bits_per_second = line.bits_per_second
        self._line = line
        self._out = out
        self._clock = clock
        self._start_s = clock()
        self._decoders = {"->": Decoder(), "<-": Decoder()}

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        received = self._line.read(max_bytes, deadline_s)
        self._note("<-", received)
        return received

    def write(self, data: bytes, deadline_s: float) -> None:
        self._note("->", data)
        self._line.write(data, deadline_s)

    def set_rate(self, bits_per_second: int) -> bool:
        changed = self._line.set_rate(bits_per_second)
        self.bits_per_second = self._line.bits_per_second
        return changed

    def close(self) -> None:
        self._line.close()

    def _note(self, direction: str, data: bytes) -> None:
        for found in self._decoders[direction].feed(data):
            self._out.write(f"{self._clock() - self._start_s:10.6f} {direction} {describe(found)}\n")


def describe(found: bytes | Damage) -> str:
    if isinstance(found, Damage):
        return f"damaged {len(found.received)} B {found.received[:32]!r}"
    return str(Packet.unpack(found))
