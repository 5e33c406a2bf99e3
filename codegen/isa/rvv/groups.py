"""Vector register groups for the sums of a block of channels, and their type suffixes in C.

A register has at least 128 bits, and 1, 2, 4 or 8 consecutive ones form an operand. Sums have 32 bits,
factors 16 and results 8, so a block of 16 channels needs 4, 2 and 1 registers.
"""

from __future__ import annotations

from dataclasses import dataclass

_REGISTER_BYTES = 16
_MOST_REGISTERS = 8  # per group
MOST_CHANNELS = _MOST_REGISTERS * _REGISTER_BYTES // 4
_REGISTERS = 32
_OTHERS = 1  # v0, reserved for masks


@dataclass(frozen=True, slots=True)
class Groups:
    """The register groups for a block of `channels` channels."""

    channels: int

    @property
    def sums(self) -> int:
        """Returns the registers of a group of sums."""
        return next(n for n in (4, 8) if n * _REGISTER_BYTES >= 4 * self.channels)

    @property
    def words(self) -> str:
        """Returns the type suffix of 32-bit groups."""
        return f"32m{self.sums}"

    @property
    def halves(self) -> str:
        return f"16m{self.sums // 2}"

    @property
    def bytes(self) -> str:
        return f"8m{self.sums // 4}"

    def sums_at_once(self, wide: int) -> int:
        """Returns how many groups of sums fit, together with `wide` 16-bit operands and one 8-bit operand."""
        others = _OTHERS + wide * self.sums // 2 + self.sums // 4
        return (_REGISTERS - others) // self.sums
