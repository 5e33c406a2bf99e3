"""Chooses which constants `--place` moves to RAM: those that save most flash wait states.

Only memories as fast as the fastest one are used, because the cost of slower ones is unknown. Flash holds the
initial content of RAM as it holds all constants, so it needs no more space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from aot.line_cache import LineCache
from aot.target import FIRMWARE_RAM_BYTES, FlashReads
from codegen.fit.constant_places import is_named
from codegen.fit.memory_use import kept_limits, memory_use_of, ram_needs
from codegen.fit.variant import CompiledPlan
from codegen.job import Job
from codegen.kernels.kernel import Kernel, aligned
from codegen.loops.constant_reads import ConstantReads, ReadLines
from codegen.lower.stages import LoweredStage
from codegen.model import PlacedConstants, PlacementInRam
from codegen.options import CDialect

_MOST_UNITS = 1 << 16  # granularity of the capacity; larger sizes are rounded up


def most_valuable(sizes: Sequence[int], values: Sequence[int], room: int) -> tuple[int, ...]:
    """Returns the positions of the most valuable items that fit, sorted.

    The capacity is exact to a 65,536th; sizes are rounded to 4 bytes.
    """
    unit = max(4, -(-room // _MOST_UNITS))
    units = room // unit
    if sum(sizes) <= room:
        return tuple(range(len(sizes)))
    best = np.zeros(units + 1, np.int64)  # the best value for each capacity
    taken = np.zeros((len(sizes), units + 1), bool)
    for number, (size, value) in enumerate(zip(sizes, values, strict=True)):
        needs = -(-size // unit)
        if needs > units:
            continue
        with_it = best[: units + 1 - needs] + value
        taken[number, needs:] = with_it > best[needs:]
        best[needs:] = np.maximum(best[needs:], with_it)
    return _walked_back(taken, [-(-size // unit) for size in sizes], units)


def _walked_back(
    taken: np.ndarray[tuple[int, int], np.dtype[np.bool_]], needs: Sequence[int], left: int
) -> tuple[int, ...]:
    found = []
    for number in reversed(range(len(needs))):
        if taken[number, left]:
            found.append(number)
            left -= needs[number]
    return tuple(reversed(found))


# Estimates cycles lost to flash wait states for constants, by simulating one cache over all steps.
#
# Interleaved layers evict each other's constants from the cache, so layers cannot be simulated separately.


def constant_waits(
    stages: Sequence[LoweredStage], order: Sequence[int], reads: FlashReads
) -> tuple[int, ...]:
    """Returns the cycles per run for each stage. Only constants are cached; code fetches are ignored."""
    memory = ReadLines(reads.line_bytes, LineCache(reads.sets, reads.ways))
    ends = accumulate((_bytes(stage.kernel) for stage in stages), initial=0)
    layers = [
        _ReadingLayer(*_followed(stage.kernel, end, memory)) for stage, end in zip(stages, ends, strict=False)
    ]
    missed = [0] * len(stages)
    begun = set[int]()
    for number in order:
        once = layers[number].once if number not in begun else ()
        missed[number] += sum(proc.missed() for proc in (*once, *layers[number].steps))
        begun.add(number)
    return tuple(each * reads.wait_cycles for each in missed)


@dataclass(frozen=True, slots=True)
class _ReadingLayer:
    once: tuple[ConstantReads, ...]  # before or after its steps
    steps: tuple[ConstantReads, ...]  # in each step


def _followed(
    kernel: Kernel, begin: int, memory: ReadLines
) -> tuple[tuple[ConstantReads, ...], tuple[ConstantReads, ...]]:
    if kernel.calls is not None or not kernel.constants:
        return (), ()
    begins = dict(_begins(kernel, begin))
    once = (ConstantReads(proc, begins, memory) for proc in kernel.procs if proc is not kernel.proc)
    return tuple(once), (ConstantReads(kernel.proc, begins, memory),)


def _begins(kernel: Kernel, begin: int) -> Iterator[tuple[str, int]]:
    """Yields each constant with its address, in the order of definition."""
    for name, array in kernel.constants.items():
        yield name, begin
        begin += aligned(array.nbytes)


def _bytes(kernel: Kernel) -> int:
    return sum(aligned(array.nbytes) for array in kernel.constants.values())


_WORD = 4
_CYCLES_OF_A_WORD = 7  # load, store, compare and branch: the loop of startup.c on a Cortex-M4


def place_constants(plan: CompiledPlan) -> PlacementInRam:
    """Returns the choice for the RAM that this plan leaves free."""
    reads = plan.job.target.flash_reads
    why_not = _why_not(plan.job)
    if why_not or reads is None:
        return PlacementInRam({}, (), 0, (why_not,))
    rooms, found = _rooms(plan), tuple(_waiting(plan, reads))
    left, layers = found, list[PlacedConstants]()
    for region, room in rooms.items():
        chosen = most_valuable([each.bytes for each in left], [each.cycles for each in left], room)
        layers += [replace(left[number], region=region) for number in chosen]
        left = tuple(each for number, each in enumerate(left) if number not in chosen)
    layers.sort(key=lambda each: each.layer)
    copied = sum(each.bytes for each in layers)
    return PlacementInRam(
        rooms, tuple(layers), _copy_cycles(copied, reads), tuple(_notes(plan, rooms, found, left))
    )


def _waiting(plan: CompiledPlan, reads: FlashReads) -> Iterator[PlacedConstants]:
    """Yields the layers that wait for constants, unless the user has chosen their memory."""
    stages = plan.lowered.stages
    waits = constant_waits(stages, plan.plan.order, reads)
    for number, (stage, cycles) in enumerate(zip(stages, waits, strict=True)):
        if cycles and not is_named(number, stage, plan.job.options.constants):
            size = sum(aligned(array.nbytes) for array in stage.kernel.constants.values())
            yield PlacedConstants(number, "", size, cycles)


def _rooms(plan: CompiledPlan) -> Mapping[str, int]:
    """Returns the free bytes of each of the fastest memories within its limit, after the firmware's needs."""
    target = plan.job.target
    needed = {use.region.name: use.needed_bytes for use in memory_use_of(ram_needs(plan), target)}
    rams = target.by_speed("ram")
    needed[rams[0].name] = needed.get(rams[0].name, 0) + FIRMWARE_RAM_BYTES + _streamed_bytes(plan)
    free = {region.name: region.bytes - needed.get(region.name, 0) for region in rams}
    for each in kept_limits(plan):
        if each.role == "ram":
            free[each.region] = min(free[each.region], each.limit_bytes - each.taken_bytes)
    fastest = (region.name for region in rams if region.speed == rams[0].speed)
    return {region: max(0, free[region]) // _WORD * _WORD for region in fastest}


def _streamed_bytes(plan: CompiledPlan) -> int:
    """Returns the bytes of streamed inputs, which the serial line stores whole."""
    is_streamed = plan.lowered.receiver is not None
    return sum(plan.graph.types[value].bytes for value in plan.graph.inputs) if is_streamed else 0


def _copy_cycles(size: int, reads: FlashReads) -> int:
    return size // _WORD * _CYCLES_OF_A_WORD + -(-size // reads.line_bytes) * reads.wait_cycles


def _why_not(job: Job) -> str:
    """Returns why constants must stay in flash; empty if they need not."""
    target = job.target
    waits = target.flash_reads.wait_cycles if target.flash_reads else 0
    reasons = (
        (bool(target.constant_space), "the constants of this core must be in flash"),
        (job.options.dialect is CDialect.STRICT, "standard C cannot choose the section of a constant"),
        (not target.by_speed("ram"), "the target has no RAM size"),
        (target.flash_reads is None, "the flash wait states of this board are not known"),
        (not waits, "the flash of this board has no wait states at its clock"),
    )
    return next((why for is_so, why in reasons if is_so), "")


def _notes(
    plan: CompiledPlan,
    rooms: Mapping[str, int],
    found: Sequence[PlacedConstants],
    left: Sequence[PlacedConstants],
) -> Iterator[str]:
    rules, stages = plan.job.options.constants, plan.lowered.stages
    named = [n for n, stage in enumerate(stages) if stage.kernel.constants and is_named(n, stage, rules)]
    if named:
        yield f"{_layers(named)} placed by --constants"
    if not found and not named:
        yield "no layer waits for its constants"
    if left:
        free = " and ".join(f"{room:,} bytes of {region}" for region, room in rooms.items())
        stay = "stays in flash: it does" if len(left) == 1 else "stay in flash: they do"
        layers = _layers([each.layer for each in left])
        yield f"{layers} {stay} not fit the {free} left by arena, stack and firmware"


def _layers(numbers: Sequence[int]) -> str:
    names = ", ".join(str(number) for number in numbers)
    return f"layers {names}" if len(numbers) > 1 else f"layer {names}"
