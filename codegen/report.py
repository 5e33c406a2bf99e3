"""What `deploy inspect` shows of a compiled model: layer by layer, and whether it fits the memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.target import Region, Target
from codegen.facts import ModelFacts
from codegen.memory_map import BufferLife
from codegen.model import LayerInfo

Parts = tuple[tuple[str, int], ...]  # what takes memory, and bytes


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A layer with what it costs and what it leaves in memory."""

    layer: LayerInfo
    output: BufferLife  # the rows it writes
    firings: int
    first_firing: int
    last_firing: int
    live_bytes: int  # most that anything needs while this layer fires
    is_peak: bool  # the arena's peak is in one of its firings


@dataclass(frozen=True, slots=True)
class Peak:
    """The moment at which most bytes are needed."""

    firing: int
    layer: LayerInfo
    bytes: int
    buffers: tuple[tuple[str, int], ...]  # what is there, largest first


@dataclass(frozen=True, slots=True)
class Budget:
    """What of one kind of memory the model takes, part by part, beside what its region has."""

    region: Region
    parts: Parts

    @property
    def needed_bytes(self) -> int:
        return sum(size for _, size in self.parts)

    @property
    def fits(self) -> bool:
        return self.needed_bytes <= self.region.bytes


@dataclass(frozen=True, slots=True)
class Report:
    facts: ModelFacts
    layers: tuple[LayerRow, ...]
    peak: Peak
    budgets: tuple[Budget, ...]  # of the memories that the model takes something of

    @property
    def fits(self) -> bool:
        return all(budget.fits for budget in self.budgets)


def make_report(facts: ModelFacts, target: Target | None = None) -> Report:
    """The facts laid out; `target` is the one to fit into, by default the one that was compiled for."""
    memory = facts.memory
    peak = memory.peak_firing
    return Report(
        facts=facts,
        layers=_layer_rows(facts),
        peak=Peak(peak, facts.layers[memory.order[peak]], memory.peak_bytes, memory.live_at(peak)),
        budgets=_budgets(facts, target or facts.target),
    )


def _layer_rows(facts: ModelFacts) -> tuple[LayerRow, ...]:
    memory, peak = facts.memory, facts.memory.peak_firing
    times: Mapping[int, list[int]] = defaultdict(list)
    for time, layer in enumerate(memory.order):
        times[layer].append(time)
    return tuple(_layer_row(facts, layer, times[layer.index], peak) for layer in facts.layers)


def _layer_row(facts: ModelFacts, layer: LayerInfo, times: Sequence[int], peak: int) -> LayerRow:
    return LayerRow(
        layer=layer,
        output=facts.memory.by_name[layer.output],
        firings=len(times),
        first_firing=times[0],
        last_firing=times[-1],
        live_bytes=max(facts.memory.live_bytes[time] for time in times),
        is_peak=peak in times,
    )


def _budgets(facts: ModelFacts, target: Target) -> tuple[Budget, ...]:
    """Region by region; what names none has its role's fastest with room."""
    other_flash = [r.name for r in target.by_speed("flash")[1:]]
    elsewhere = sum(size for region, size in facts.constants_in.items() if region in other_flash)
    arenas = {arena.region: arena.bytes for arena in facts.arenas}
    parts = [
        *((region, "ram", _arena_said(facts, region), size) for region, size in arenas.items()),
        *([("", "ram", "inputs and outputs", facts.io_bytes_beside)] if facts.options.io_apart else []),
        (_stack_region(target, arenas), "ram", "stack, estimated", facts.stack_bytes_estimate),
        ("", "flash", "constants", facts.constants_bytes - elsewhere),
        ("", "flash", "code, estimated", facts.code_bytes_estimate),
    ]
    chosen = {
        role: _place(regions, sum(size for name, of, _, size in parts if (name, of) == ("", role)))
        for role in ("ram", "flash")
        if (regions := target.by_speed(role))
    }
    taken: dict[Region, Parts] = {}
    named = {region.name: region for region in target.regions}
    parts += [(name, "", f"constants in {name}", size) for name, size in facts.constants_in.items()]
    for name, role, says, size in parts:
        region = named.get(name) or chosen.get(role)
        if region is not None:
            taken[region] = (*taken.get(region, ()), (says, size))
    return tuple(Budget(region, its_parts) for region, its_parts in taken.items())


def _arena_said(facts: ModelFacts, region: str) -> str:
    if region:
        return f"arena in {region}"
    return "arena" if facts.options.io_apart else "arena, inputs and outputs in it"


def _stack_region(target: Target, arenas: Mapping[str, int]) -> str:
    """Beside an arena that may lie anywhere, else in the fastest memory."""
    return "" if "" in arenas or not target.by_speed("ram") else target.by_speed("ram")[0].name


def _place(regions: Sequence[Region], needed_bytes: int) -> Region:
    """The fastest region with room, as projects place things; where none has, the largest."""
    with_room = [region for region in regions if region.bytes >= needed_bytes]
    if with_room:
        return min(with_room, key=lambda region: region.speed)
    return max(regions, key=lambda region: region.bytes)
