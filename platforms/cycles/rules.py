"""Computes the cycles of an instruction sequence from a core's table, assuming memory without wait states."""

from __future__ import annotations

from collections.abc import Sequence

from boards.cores import CoreTiming
from platforms.cycles.instruction import MachineInstruction

_NEIGHBOURS = ("load", "store", "store_indexed")  # can send their address while a preceding load completes
_FLOATS = ("float", "float_multiply_add", "float_divide")


def cycles_of(code: Sequence[MachineInstruction], timing: CoreTiming) -> tuple[int, ...]:
    """Returns the cycles of each instruction of a block whose last one does not branch."""
    befores = (None, *code)[:-1]
    return tuple(_cycles(one, before, timing) for one, before in zip(code, befores, strict=True))


def _cycles(one: MachineInstruction, before: MachineInstruction | None, timing: CoreTiming) -> int:
    alone = timing.cycles.get(one.kind, 1) + timing.each.get(one.kind, 0) * one.registers
    if before is None:
        return alone
    makes_address = bool(before.writes & one.address_of)
    if before.kind == "load" and one.kind in _NEIGHBOURS and not makes_address:
        return max(1, alone - timing.after_load)
    late = timing.late_address if makes_address and not before.kind.startswith(("load", "store")) else 0
    late += timing.late_float if before.kind in _FLOATS and before.writes & one.reads else 0
    return alone + late
