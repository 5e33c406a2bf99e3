"""Plans a job: passes, a search, and where the board has too little RAM a search within it."""

from __future__ import annotations

from dataclasses import replace

from aot.errors import FitError, InputError
from aot.passes.pipeline import PassRun, run_meaning
from aot.target import Optimize
from codegen.axis_sizes import is_open
from codegen.fit.device_regions import with_regions
from codegen.fit.memory_use import missing_ram_bytes
from codegen.fit.no_room import NoRoomError
from codegen.fit.placed_constants import place_constants
from codegen.fit.placement_search import find_plan
from codegen.fit.ram_needs import ram_needs
from codegen.fit.transformed_weights import layers_to_compact
from codegen.fit.variant import CompiledPlan
from codegen.job import Job

_MOST_TRIES = 3  # other kernels may need more stack: what an arena leaves is known when it is planned


def plan_job(job: Job) -> CompiledPlan:
    """The only way from a model to its kernels and their memory; the plan's job says how it was made.

    The RAM of the target's regions limits the arena as `ram_bytes` of the options does. Where nothing fits,
    the plan is the one that needs least: the caller shows it or refuses it. Raises ModelError for what cannot
    be compiled, FitError where the options allow the arena less than it needs. Kernels that store weights
    transformed, in more bytes, have them as long as the flash has room. What `--place` puts into RAM is
    chosen last, from what is left.
    """
    if is_open(job.options.shapes):
        raise InputError(
            "one size of each input is compiled at a time, and --shape gives several",
            hint="--shape x=1,3,32,32; deploy compile, run, verify and connect take several",
        )
    meaning = with_regions(run_meaning(job.model.graph, job.options.left_out_passes), job)
    try:
        plan = _within_ram(meaning, job, frozenset())
        compact = layers_to_compact(plan)
        plan = _within_ram(meaning, job, compact) if compact else plan
    except NoRoomError as error:
        raise error.fit_error() from None
    return replace(plan, placement=place_constants(plan)) if job.options.place else plan


def _within_ram(meaning: PassRun, job: Job, compact: frozenset[str]) -> CompiledPlan:
    plan = find_plan(meaning, job, compact)
    missing = _missing(plan)
    if not missing:
        return plan
    least = replace(job, options=replace(job.options, optimize=Optimize.RAM, ram_bytes=None))
    is_least = job.options == least.options and not compact
    return _with_less(meaning, plan, missing, compact) or (plan if is_least else find_plan(meaning, least))


def _with_less(
    meaning: PassRun, plan: CompiledPlan, missing: int, compact: frozenset[str]
) -> CompiledPlan | None:
    """Plans again with less for the arena; None where no arena is found that leaves room for the rest."""
    for _ in range(_MOST_TRIES):
        limit = max(plan.plan.arena_bytes - missing, 0)
        less = replace(plan.job, options=replace(plan.job.options, ram_bytes=limit))
        try:
            plan = find_plan(meaning, less, compact)
        except (FitError, NoRoomError):
            return None
        missing = _missing(plan)
        if not missing:
            return plan
    return None


def _missing(plan: CompiledPlan) -> int:
    """Bytes of the target's RAM that the plan is too large by."""
    return missing_ram_bytes(ram_needs(plan), plan.job.target)
