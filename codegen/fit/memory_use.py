"""Adds up what a compiled model takes of each memory of a board, part by part, beside what there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.target import BaseFirmware, MemoryRegion, Target
from codegen.c.arenas import Arena

Parts = tuple[tuple[str, int], ...]  # what takes memory, and bytes
_STACK, _CODE = "stack, estimated", "code, estimated"
_SECOND_STACK = "stack of the second core, estimated"
_SERVER, _SERVER_STACK = "server and C library, as built", "stack of the server"
# Before there is a compiler, or in firmware of the user's own; all other parts are known exactly.
_ESTIMATES = (_STACK, _SECOND_STACK, _CODE, _SERVER, _SERVER_STACK)


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """Bytes that a model takes, wherever they may lie."""

    arenas: tuple[Arena, ...]
    io_beside_arena_bytes: int | None  # inputs and outputs in the caller's memory; None: the arena has them
    stack_bytes: int
    constant_bytes: int
    constant_bytes_by_region: Mapping[str, int]  # of them by region, where it is not the code's
    code_bytes: int
    counter_bytes: int = 0  # of --observe
    cores: int = 1  # each with such a stack
    firmware: BaseFirmware | None = None  # around the model; None: only the model is counted


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The bytes that a model takes of one memory, part by part, and the memory itself."""

    region: MemoryRegion
    parts: Parts
    counts_firmware: bool = False  # True where the parts are those of firmware, and not the model's alone

    @property
    def needed_bytes(self) -> int:
        return sum(size for _, size in self.parts)

    @property
    def fits(self) -> bool:
        return self.needed_bytes <= self.region.bytes

    @property
    def fits_but_for_estimates(self) -> bool:
        """True where there would be room if nothing were estimated: only a build knows then."""
        return sum(size for name, size in self.parts if name not in _ESTIMATES) <= self.region.bytes

    @property
    def missing_bytes(self) -> int:
        return max(self.needed_bytes - self.region.bytes, 0)


def memory_use_of(needs: MemoryNeeds, target: Target) -> tuple[MemoryUse, ...]:
    """The use of each memory that the model needs. Parts without a region go to the fastest of their role
    with room."""
    other_flash = [r.name for r in target.by_speed("flash")[1:]]
    elsewhere = sum(size for region, size in needs.constant_bytes_by_region.items() if region in other_flash)
    arenas = {arena.region: arena.bytes for arena in needs.arenas}
    beside = needs.io_beside_arena_bytes
    stack = _stack_region(target, arenas, needs.firmware)
    parts = [
        *((region, "ram", _arena_text(region, beside), size) for region, size in arenas.items()),
        *([("", "ram", "inputs and outputs", beside)] if beside is not None else []),
        (stack, "ram", _STACK, needs.stack_bytes),
        *([(stack, "ram", _SECOND_STACK, needs.stack_bytes)] if needs.cores > 1 else []),
        *_firmware_parts(needs.firmware, target),
        *([("", "ram", "counters", needs.counter_bytes)] if needs.counter_bytes else []),
        ("", "flash", "constants", needs.constant_bytes - elsewhere),
        ("", "flash", _CODE, needs.code_bytes),
    ]
    fixed: Counter[str] = Counter()
    for name, _, _, size in parts:
        fixed[name] += size
    chosen = {
        role: _place(regions, sum(size for name, of, _, size in parts if (name, of) == ("", role)), fixed)
        for role in ("ram", "flash")
        if (regions := target.by_speed(role))
    }
    taken: dict[MemoryRegion, Parts] = {}
    named = {region.name: region for region in target.regions}
    parts += [
        (name, "", f"constants in {name}", size) for name, size in needs.constant_bytes_by_region.items()
    ]
    for name, role, says, size in parts:
        region = named.get(name) or chosen.get(role)
        if region is not None:
            taken[region] = (*taken.get(region, ()), (says, size))
    return tuple(
        MemoryUse(region, its_parts, needs.firmware is not None) for region, its_parts in taken.items()
    )


def missing_ram_bytes(needs: MemoryNeeds, target: Target) -> int:
    """Bytes of RAM by which a model is too large for a board."""
    return sum(b.missing_bytes for b in memory_use_of(needs, target) if b.region.role == "ram")


def _arena_text(region: str, io_beside_arena_bytes: int | None) -> str:
    if region:
        return f"arena in {region}"
    return "arena" if io_beside_arena_bytes is not None else "arena, inputs and outputs in it"


def _firmware_parts(firmware: BaseFirmware | None, target: Target) -> list[tuple[str, str, str, int]]:
    """The firmware's own parts; its variables and stack are in the fastest memory."""
    if firmware is None:
        return []
    ram = _fastest(target)
    return [
        (ram, "ram", _SERVER, firmware.ram_bytes),
        (ram, "ram", _SERVER_STACK, firmware.stack_bytes),
        ("", "flash", _SERVER, firmware.flash_bytes),
    ]


def _fastest(target: Target) -> str:
    rams = target.by_speed("ram")
    return rams[0].name if rams else ""


def _stack_region(target: Target, arenas: Mapping[str, int], firmware: BaseFirmware | None) -> str:
    """The region of the stack: the fastest memory in firmware, else that of an arena without a region."""
    return "" if "" in arenas and firmware is None else _fastest(target)


def _place(regions: Sequence[MemoryRegion], needed_bytes: int, fixed: Mapping[str, int]) -> MemoryRegion:
    """The fastest region with enough space beside what must be there, as in projects; else the largest."""
    with_room = [region for region in regions if region.bytes - fixed.get(region.name, 0) >= needed_bytes]
    if with_room:
        return min(with_room, key=lambda region: region.speed)
    return max(regions, key=lambda region: region.bytes)
