"""Plans a job: runs the passes, and returns the fastest plan within the limits of options and board."""

from __future__ import annotations

from dataclasses import replace

from aot.errors import InputError
from aot.passes.pipeline import PassRun, run_meaning
from aot.target import Optimize
from codegen.axis_sizes import is_open
from codegen.fit.budgets import has_budget
from codegen.fit.device_regions import with_regions
from codegen.fit.memory_use import missing_ram_bytes, ram_needs
from codegen.fit.placement_search import fastest_plan
from codegen.fit.transformed_weights import layers_to_compact
from codegen.fit.variant import CompiledPlan
from codegen.job import Job


def plan_job(job: Job) -> CompiledPlan:
    """Returns the plan of a job. This is the only way from a model to its kernels and their memory.

    The RAM of the target's regions limits the arena like `ram` of the options. If nothing fits the
    board, the plan is the smallest, and the caller shows or rejects it. Kernels with larger, transformed
    weights are used as long as flash suffices. `--place` is decided last, for the remaining RAM. Raises
    ModelError if the model is not supported, FitError if the limits of the options cannot be met.
    """
    if is_open(job.options.shapes):
        raise InputError(
            "this command needs one size for each input, and --shape gives several",
            hint="choose one, for example --shape x=1,3,32,32; deploy compile, run, verify and connect "
            "accept several",
        )
    meaning = with_regions(run_meaning(job.model.graph, job.options.left_out_passes), job)
    plan = _planned(meaning, job)
    if not job.options.place:
        return plan
    from codegen.fit.placed_constants import place_constants

    return replace(plan, placement=place_constants(plan))


def _planned(meaning: PassRun, job: Job) -> CompiledPlan:
    if has_budget(job):
        return _within_board(meaning, job)
    plan = fastest_plan(meaning, job)
    compact = layers_to_compact(plan)
    plan = fastest_plan(meaning, job, compact) if compact else plan
    return plan if not _missing(plan) else _within_board(meaning, job)


def _within_board(meaning: PassRun, job: Job) -> CompiledPlan:
    """Returns the fastest plan within the budgets that leaves enough RAM for the rest, else the smallest.

    Plans that also leave an application its share of the flash come first.
    """
    from codegen.fit.budgets import plan_within, refusal, require_room

    require_room(meaning, job)
    plan = plan_within(meaning, job, lambda plan: not _missing(plan) and not layers_to_compact(plan))
    plan = plan or plan_within(meaning, job, lambda plan: not _missing(plan))
    if plan is not None:
        its = plan.job.options
        limited = its if has_budget(job) else replace(its, ram=plan.plan.arena_bytes)
        return replace(plan, job=replace(plan.job, options=limited))
    if plan_within(meaning, job, lambda plan: True) is None:
        raise refusal(meaning, job)
    least = replace(job.options, optimize=Optimize.RAM, ram=None, flash=None)
    plan = plan_within(meaning, replace(job, options=least), lambda plan: True)
    assert plan is not None  # without limits, a plan exists
    return plan


def _missing(plan: CompiledPlan) -> int:
    """Returns the bytes by which the plan exceeds the target's RAM."""
    return missing_ram_bytes(replace(ram_needs(plan), firmware=plan.job.firmware), plan.job.target)
