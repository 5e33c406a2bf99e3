"""Merging kernels that differ only in integers: a choice between flash and time, made when all else is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aot.target import Target
from codegen.c.kernel_library import KernelFamily, kernel_families
from codegen.c.part_sizes import core_kind, estimate_bytes
from codegen.fit.layer_cycles import CycleTable
from codegen.fit.variant import CompiledPlan
from codegen.lower.stages import Lowered

# Part of their time that layers lose, as counted on a Cortex-M4. Loops and instructions that are not told
# how often they turn lose most.
_SLOWDOWN, _SLOWDOWN_BY_TURNS = 0.03, 0.45
_PLACES = frozenset({"first", "per", "step", "count"})  # in the names of all other integers
_SHORT_BYTES = 2  # of most integers of a layer


@dataclass(frozen=True, slots=True)
class Merge:
    """One function in place of several."""

    layers: frozenset[str]
    bytes: int  # of flash, saved
    cycles: int  # lost


def merges_of(lowered: Lowered, target: Target, table: CycleTable) -> list[Merge]:
    """Returns the merges that save flash, those that lose the fewest cycles per byte first."""
    found = list(_merges(lowered, target, table))
    return sorted(found, key=lambda merge: (merge.cycles / merge.bytes, sorted(merge.layers)))


def predicted_cycles(plan: CompiledPlan, table: CycleTable) -> int:
    """Returns the cycles of a run, with those that merged kernels lose."""
    merges = merges_of(plan.lowered, plan.job.kernel_target, table) if plan.merged else ()
    return table.run(plan.lowered) + sum(merge.cycles for merge in merges if merge.layers <= plan.merged)


def _merges(lowered: Lowered, target: Target, table: CycleTable) -> Iterator[Merge]:
    parts = core_kind(target).parts
    for family in kernel_families(lowered.stages):
        numbers = family.merged.numbers[0]
        shapes = _SHORT_BYTES * len(numbers) * len(family.stages)
        apart = sum(estimate_bytes(function, parts) for function in family.functions)
        saved = round(apart - estimate_bytes(family.merged.function, parts)) - shapes
        if saved > 0:
            cycles = sum(table.of(stage, lowered.tensors).cycles for stage in family.stages)
            layers = frozenset(stage.name for stage in family.stages)
            yield Merge(layers, saved, round(cycles * _slowdown(family)))


def _slowdown(family: KernelFamily) -> float:
    names = family.merged.numbers[0]
    return _SLOWDOWN if all(_PLACES & set(name.split("_")) for name in names) else _SLOWDOWN_BY_TURNS
