"""Plans a job: passes, a search, and where the board has too little RAM a search within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aot.errors import FitError, InputError
from aot.ir.graph import Graph
from aot.passes.pipeline import PassRun, run_meaning
from aot.target import Optimize
from codegen.axis_sizes import is_open
from codegen.c.constants import collect_constants
from codegen.c.observe import OBSERVED_BYTES
from codegen.fit.arenas import arenas_of
from codegen.fit.budgets import MemoryNeeds, missing_ram_bytes
from codegen.fit.constant_places import constant_regions
from codegen.fit.placement_search import find_plan
from codegen.fit.regions import with_regions
from codegen.fit.transformed_weights import layers_to_compact
from codegen.fit.variant import CompiledPlan
from codegen.job import Job

_MOST_TRIES = 3  # other kernels may need more stack: what an arena leaves is known when it is planned


def plan_job(job: Job) -> CompiledPlan:
    """The only way from a model to its kernels and their memory; the plan's job says how it was made.

    The RAM of the target's regions limits the arena as `ram_bytes` of the options does. Where nothing fits,
    the plan is the one that needs least: the caller shows it or refuses it. Raises ModelError for what cannot
    be compiled, FitError where the options allow the arena less than it needs. Kernels that store weights
    transformed, in more bytes, have them as long as the flash has room.
    """
    if is_open(job.options.shapes):
        raise InputError(
            "one size of each input is compiled at a time, and --shape gives several",
            hint="--shape x=1,3,32,32; deploy compile, run, verify and connect take several",
        )
    meaning = with_regions(run_meaning(job.model.graph, job.options.left_out_passes), job)
    plan = _within_ram(meaning, job, frozenset())
    compact = layers_to_compact(plan)
    return _within_ram(meaning, job, compact) if compact else plan


def _within_ram(meaning: PassRun, job: Job, compact: frozenset[str]) -> CompiledPlan:
    plan = find_plan(meaning, job, compact)
    missing = _missing(plan)
    return _with_less(meaning, plan, missing, compact) or _least(meaning, job) if missing else plan


def _with_less(
    meaning: PassRun, plan: CompiledPlan, missing: int, compact: frozenset[str]
) -> CompiledPlan | None:
    """Plans again with less for the arena; None where no arena is found that leaves room for the rest."""
    for _ in range(_MOST_TRIES):
        limit = max(plan.plan.arena_bytes - missing, 0)
        less = replace(plan.job, options=replace(plan.job.options, ram_bytes=limit))
        try:
            plan = find_plan(meaning, less, compact)
        except FitError:
            return None
        missing = _missing(plan)
        if not missing:
            return plan
    return None


def _least(meaning: PassRun, job: Job) -> CompiledPlan:
    return find_plan(
        meaning, replace(job, options=replace(job.options, optimize=Optimize.RAM, ram_bytes=None))
    )


def _missing(plan: CompiledPlan) -> int:
    """Bytes of the target's RAM that the plan is too large by."""
    job = plan.job
    needs = MemoryNeeds(
        arenas_of(plan.plan.pool_bytes),
        _io_bytes(plan.graph) if job.options.io_apart else None,
        plan.stack_bytes,
        constants=0,  # not in RAM, but for those that the options place there
        constants_in=_constants_in(plan) if job.options.constants else {},
        code=0,
        counters=OBSERVED_BYTES if job.options.observe else 0,
        cores=job.options.cores,
    )
    return missing_ram_bytes(needs, job.target)


def _io_bytes(graph: Graph) -> int:
    return sum(graph.types[value].bytes for value in (*graph.inputs, *graph.outputs))


def _constants_in(plan: CompiledPlan) -> Mapping[str, int]:
    stages = plan.lowered.stages
    regions = constant_regions(stages, plan.job.options.constants, plan.job.target)
    return collect_constants(plan.job.model.name, stages, (), regions).bytes_in
