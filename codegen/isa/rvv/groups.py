"""Groups of vector registers: how many hold the sums of a block of channels, and their names in C.

A register has 128 bits at least, and 1, 2, 4 or 8 that follow each other are one operand. Sums have 32 bits,
what is multiplied 16 and what is stored 8, so that a block of 16 channels takes 4, 2 and 1 registers.
"""

from __future__ import annotations

from dataclasses import dataclass

_REGISTER_BYTES = 16
_MOST_REGISTERS = 8  # of a group
MOST_CHANNELS = _MOST_REGISTERS * _REGISTER_BYTES // 4
_REGISTERS = 32
_OTHERS = 1  # v0, which only masks can lie in


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups for a block of so many channels."""

    channels: int

    @property
    def sums(self) -> int:
        """Registers of a group of sums."""
        return next(n for n in (4, 8) if n * _REGISTER_BYTES >= 4 * self.channels)

    @property
    def words(self) -> str:
        """The suffix of groups of 32 bits."""
        return f"32m{self.sums}"

    @property
    def halves(self) -> str:
        return f"16m{self.sums // 2}"

    @property
    def bytes(self) -> str:
        return f"8m{self.sums // 4}"

    def sums_at_once(self, wide: int) -> int:
        """Groups of sums for which there are registers beside `wide` operands of 16 bits and one of 8."""
        others = _OTHERS + wide * self.sums // 2 + self.sums // 4
        return (_REGISTERS - others) // self.sums
