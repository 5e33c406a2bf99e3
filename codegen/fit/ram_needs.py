"""The RAM of a plan besides its arena: stack, counters, constants that the user has placed there."""

from __future__ import annotations

from collections.abc import Mapping

from aot.ir.graph import Graph
from codegen.c.arenas import arenas_of
from codegen.c.constants import collect_constants
from codegen.c.observe import OBSERVED_BYTES
from codegen.fit.memory_use import MemoryNeeds
from codegen.fit.variant import CompiledPlan


def ram_needs(plan: CompiledPlan) -> MemoryNeeds:
    """Returns the needs without flash: no code, and only the constants that `--constants` has placed."""
    job = plan.job
    return MemoryNeeds(
        arenas_of(plan.plan.pool_bytes),
        _io_bytes(plan.graph) if job.options.io_apart else None,
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
    return collect_constants(plan.job.model.name, plan.lowered.stages, (), plan.constant_regions).bytes_in
