"""A machine instruction, with the facts that its time depends on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    """An instruction of a program."""

    address: int
    bytes: int
    name: str  # without condition and width, such as "ldrsb"
    kind: str  # of boards.core_timing.KINDS; "" for all others
    registers: int  # that it loads or stores
    reads: frozenset[str]
    writes: frozenset[str]
    address_of: frozenset[str]  # the registers that its address in memory is made of

    @property
    def end(self) -> int:
        return self.address + self.bytes
