"""A line that damages what passes through it, the same way every time for one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from platforms.transport.base import Transport


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of bytes to which each fault happens; for flips, the share of bits."""

    flipped_bits: float = 0.0
    dropped: float = 0.0
    duplicated: float = 0.0
    swapped: float = 0.0  # with the byte after it
    cut: float = 0.0  # the rest of a write is lost from here


class FaultyTransport(Transport):
    """Wraps another line and damages both directions."""

    def __init__(self, line: Transport, faults: Faults, seed: int) -> None:
        self.name = line.name
        self.bits_per_second = line.bits_per_second
        self._line = line
        self._faults = faults
        # Two generators: how the reads are cut into pieces must not move the damage of the writes.
        self._sending = random.Random(f"{seed} sending")
        self._receiving = random.Random(f"{seed} receiving")

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        return damage(self._line.read(max_bytes, deadline_s), self._faults, self._receiving)

    def write(self, data: bytes, deadline_s: float) -> None:
        self._line.write(damage(data, self._faults, self._sending), deadline_s)

    def close(self) -> None:
        self._line.close()


def damage(data: bytes, faults: Faults, chance: random.Random) -> bytes:
    """The bytes as they arrive."""
    out = bytearray()
    held = b""  # a byte that was overtaken by its successor
    for byte in data:
        if chance.random() < faults.cut:
            break
        arriving = _damage_byte(byte, faults, chance)
        if not held and chance.random() < faults.swapped:
            held = arriving
            continue
        out += arriving + held
        held = b""
    return bytes(out + held)


def _damage_byte(byte: int, faults: Faults, chance: random.Random) -> bytes:
    if chance.random() < faults.dropped:
        return b""
    for bit in range(8):
        if chance.random() < faults.flipped_bits:
            byte ^= 1 << bit
    copies = 2 if chance.random() < faults.duplicated else 1
    return bytes([byte]) * copies
