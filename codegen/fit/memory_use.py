"""Adds up the memory a model needs, per memory and part, next to what the board has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.target import BaseFirmware, MemoryRegion, Target
from codegen.c.arenas import NO_LIMITS, Arena, arenas_of, region_limits
from codegen.c.constants import collect_constants
from codegen.c.estimate import estimate_kernel_bytes
from codegen.c.observe import OBSERVED_BYTES
from codegen.fit.constant_places import asked_regions
from codegen.fit.variant import CompiledPlan
from codegen.job import Job
from codegen.lower.stages import LoweredStage
from codegen.model import KeptLimit

Parts = tuple[tuple[str, int], ...]  # (name of the part, bytes)
_STACK, _CODE = "stack, estimated", "code, estimated"
_SECOND_STACK = "stack of the second core, estimated"
_SERVER, _SERVER_STACK = "server and C library, as built", "stack of the server"
# Estimated without a compiler, or for a user's firmware. All other parts are exact.
_ESTIMATES = (_STACK, _SECOND_STACK, _CODE, _SERVER, _SERVER_STACK)


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """The bytes that a model needs, before they are assigned to memories."""

    arenas: tuple[Arena, ...]
    io_beside_arena_bytes: int | None  # inputs and outputs in the caller's memory; None: in the arena
    stack_bytes: int
    constant_bytes: int
    constant_bytes_by_region: Mapping[str, int]  # constants by region, if outside the code's
    code_bytes: int  # of the model, without a startup and a main program
    counter_bytes: int = 0  # for --observe
    cores: int = 1  # each with a stack of that size
    firmware: BaseFirmware | None = None  # around the model; None: only the model is counted


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The bytes that a model needs in one memory, by part, and the memory itself."""

    region: MemoryRegion
    parts: Parts
    counts_firmware: bool = False  # True if the parts include firmware, not only the model

    @property
    def needed_bytes(self) -> int:
        return sum(size for _, size in self.parts)

    @property
    def fits(self) -> bool:
        return self.needed_bytes <= self.region.bytes

    @property
    def fits_but_for_estimates(self) -> bool:
        """Returns True if the exactly known parts fit; then only a build can tell."""
        return sum(size for name, size in self.parts if name not in _ESTIMATES) <= self.region.bytes

    @property
    def missing_bytes(self) -> int:
        return max(self.needed_bytes - self.region.bytes, 0)


def memory_use_of(needs: MemoryNeeds, target: Target) -> tuple[MemoryUse, ...]:
    """Returns the use of each memory that the model needs.

    Parts without a region go to the fastest memory of their kind with enough space.
    """
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
    """Returns the bytes of RAM that are missing on a board."""
    return sum(b.missing_bytes for b in memory_use_of(needs, target) if b.region.role == "ram")


def _arena_text(region: str, io_beside_arena_bytes: int | None) -> str:
    if region:
        return f"arena in {region}"
    return "arena" if io_beside_arena_bytes is not None else "arena, inputs and outputs in it"


def _firmware_parts(firmware: BaseFirmware | None, target: Target) -> list[tuple[str, str, str, int]]:
    """Returns the parts of the firmware itself; its variables and stack are in the fastest memory."""
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
    """Returns the region of the stack: the fastest in firmware, else that of an arena without a region."""
    return "" if "" in arenas and firmware is None else _fastest(target)


def _place(regions: Sequence[MemoryRegion], needed_bytes: int, fixed: Mapping[str, int]) -> MemoryRegion:
    """Returns the fastest region with enough space after fixed parts, as in projects; else the largest."""
    with_room = [region for region in regions if region.bytes - fixed.get(region.name, 0) >= needed_bytes]
    if with_room:
        return min(with_room, key=lambda region: region.speed)
    return max(regions, key=lambda region: region.bytes)


def ram_needs(plan: CompiledPlan) -> MemoryNeeds:
    """Returns the needs without flash: no code, and only the constants that `--constants` has placed."""
    job = plan.job
    return MemoryNeeds(
        arenas_of(plan.plan.pool_bytes),
        _io_bytes(plan.graph) if job.options.caller_owns_io else None,
        plan.stack_bytes,
        constant_bytes=0,  # not in RAM, except those placed by options
        constant_bytes_by_region=_constant_bytes_by_region(plan) if any(plan.constant_regions) else {},
        code_bytes=0,
        counter_bytes=OBSERVED_BYTES if job.options.observe else 0,
        cores=job.options.cores,
    )


def _io_bytes(graph: Graph) -> int:
    return sum(graph.types[value].bytes for value in (*graph.inputs, *graph.outputs))


def _constant_bytes_by_region(plan: CompiledPlan) -> Mapping[str, int]:
    return collect_constants(plan.job.model.name, plan.lowered.stages, plan.constant_regions).bytes_in


Place = tuple[str, str]  # the role and name of a memory; without a name, all of that role together


def limits_of(job: Job) -> Mapping[Place, int]:
    """Returns the limits of single memories, and that of all flash together. Raises BoardError."""
    options = job.options
    found = {
        (role, region): limit
        for role in ("ram", "flash")
        for region, limit in region_limits(job.target, role, options.region_limits(role)).items()
    }
    return found if options.flash_bytes is None else found | {("flash", ""): options.flash_bytes}


def code_place(job: Job) -> Place:
    """Returns the fastest flash, where the code is."""
    return "flash", next((region.name for region in job.target.by_speed("flash")), "")


def constants_at(
    stages: Sequence[LoweredStage], job: Job, regions: Sequence[str] | None = None
) -> Mapping[Place, int]:
    """Returns the bytes of constants in each memory; flash also holds what the start copies to RAM."""
    its = asked_regions(stages, job.options.constants) if regions is None else regions
    constants = collect_constants(job.model.name, stages, its, job.options.weights_external)
    roles = {region.name: region.role for region in job.target.regions}
    found = Counter({(roles[region], region): size for region, size in constants.bytes_in.items()})
    code = code_place(job)
    found[code] += constants.bytes - sum(size for (role, _), size in found.items() if role == code[0])
    found["flash", ""] = constants.bytes
    return found


def arena_limits(job: Job, stages: Sequence[LoweredStage] = ()) -> Mapping[str, int]:
    """Returns the bytes that the limits of single RAMs leave for an arena, after the constants of stages."""
    limits = region_limits(job.target, "ram", job.options.region_limits("ram"))
    if not limits:
        return NO_LIMITS
    taken = constants_at(stages, job) if job.options.constants else {}
    return {region: max(0, limit - taken.get(("ram", region), 0)) for region, limit in limits.items()}


def kept_limits(plan: CompiledPlan, has_arena: bool = True) -> tuple[KeptLimit, ...]:
    """Returns what the plan takes of each limited memory, with its arena or without it."""
    limits = limits_of(plan.job)
    if not limits:
        return ()
    taken = Counter(constants_at(plan.lowered.stages, plan.job, plan.constant_regions))
    kernels = estimate_kernel_bytes(plan.library, plan.job.target)
    for place in {code_place(plan.job), ("flash", "")}:
        taken[place] += kernels
    for arena in arenas_of(plan.plan.pool_bytes) if has_arena else ():
        taken["ram", arena.region or _fastest(plan.job.target)] += arena.bytes
    return tuple(KeptLimit(*place, limit, taken[place]) for place, limit in limits.items())
