"""A machine instruction with the properties that affect its timing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    """A decoded instruction of a program."""

    address: int
    bytes: int
    name: str  # without condition and width suffixes, such as "ldrsb"
    kind: str  # one of boards.cores.KINDS, or ""
    registers: int  # number of registers it loads or stores
    reads: frozenset[str]
    writes: frozenset[str]
    address_of: frozenset[str]  # registers used to compute its memory address

    @property
    def end(self) -> int:
        return self.address + self.bytes
