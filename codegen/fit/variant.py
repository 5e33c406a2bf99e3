"""Variants of a lowered graph: the decisions about its layers, and a plan for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

from aot.errors import BoardError, FitError, ModelError
from aot.ir.graph import Graph
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.passes.goals import VariantGoal
from aot.passes.pipeline import PassRun, PassStep, run_passes, variant_passes
from aot.plan.check import check_plan
from aot.plan.groups import Grouped, group_steps, one_by_one
from aot.plan.model import Kind, Plan, PlanRequest, PlanTensor, Pool, Stage
from aot.plan.planner import CAREFUL, find_plan_below, make_plan, plan_like
from aot.target import Optimize, Target
from codegen.c.arenas import all_pools
from codegen.c.kernel_library import KernelLibrary, Sharing, kernel_library
from codegen.c.stack_size import estimate_stack_bytes
from codegen.fit.constant_places import constant_regions
from codegen.job import Job
from codegen.lower.decisions import Decisions, all_layers, work_of
from codegen.lower.lower import lower_graph
from codegen.lower.sites import KernelsMade, Sites
from codegen.lower.stage_rows import plan_stages, plan_tensors, stage_label
from codegen.lower.stages import Lowered, LoweredStage
from codegen.lower.two_cores import on_two_cores
from codegen.model import PlacementInRam
from codegen.options import TWO, CompileOptions


def slow_sums(sites: Sites) -> Mapping[str, str]:
    """Returns the reasons by layer, for convolutions whose results are added, from their strategies."""
    graph = sites.graph
    added = {
        maker.name: maker
        for node in graph.nodes
        if isinstance(node.op, Add)
        for maker in (graph.producers.get(value) for value in node.reads)
        if maker is not None and isinstance(maker.op, Conv2d)
    }
    found = {name: sites.chosen_for(sites.of(node)).slow_sum for name, node in added.items()}
    return {name: why for name, why in found.items() if why}


_CALLERS = (Kind.INPUT, Kind.OUTPUT)


def without_io(
    tensors: Sequence[PlanTensor], stages: Sequence[Stage]
) -> tuple[tuple[PlanTensor, ...], tuple[Stage, ...]]:
    """Returns the planner's request in which inputs and outputs are read and written but occupy no memory."""
    apart = {tensor.name for tensor in tensors if tensor.kind in _CALLERS}
    return (
        tuple(replace(tensor, row_bytes=0) if tensor.name in apart else tensor for tensor in tensors),
        tuple(replace(stage, in_place=_inside(stage, apart)) for stage in stages),
    )


def _inside(stage: Stage, apart: set[str]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (read, write)
        for read, write in stage.in_place
        if stage.reads[read] not in apart and stage.writes[write] not in apart
    )


def pools_demanded(
    stages: Sequence[LoweredStage], target: Target, chosen: tuple[Pool, ...]
) -> tuple[Pool, ...]:
    """Returns the user's pools, or all RAM of the board; empty if any will do. Raises BoardError."""
    demanding = [stage for stage in stages if stage.kernel.demand.memories]
    offered = chosen or all_pools(target)
    names = {pool.name for pool in offered}
    for stage in demanding:
        if not stage.kernel.demand.memories & names:
            raise BoardError(
                f"{stage_label(stage)} needs memory in {' or '.join(sorted(stage.kernel.demand.memories))}, "
                f"{'which --pool or --ram excludes' if chosen else 'which this board does not have'}",
                hint=f"there is {', '.join(pool.name for pool in offered) or 'none: name a board'}",
            )
    return offered if demanding else ()


# Caches recent plans: boards often differ in kernels but not in a model's rows.
#
# A second plan of a model with untransformed weights also has the same rows.

T = TypeVar("T")

_FEW_STAGES = 3
_KEPT_OF_FEW = 4096  # plans, some thousand bytes each
_KEPT = 512  # most have less than 100 KB, since equal steps are shared


class PlansFound(Generic[T]):
    """Caches the results of one search. A tuner's many single layers do not evict models."""

    def __init__(self, find: Callable[..., T]) -> None:
        self._of_few, self._others = lru_cache(_KEPT_OF_FEW)(find), lru_cache(_KEPT)(find)

    def __call__(self, request: PlanRequest, *options: object) -> T:
        kept = self._of_few if len(request.stages) <= _FEW_STAGES else self._others
        return kept(request, *options)

    @property
    def searches(self) -> int:
        return self._of_few.cache_info().misses + self._others.cache_info().misses

    def forget(self) -> None:
        self._of_few.cache_clear()
        self._others.cache_clear()


least_plan = PlansFound(make_plan)
plan_below = PlansFound(find_plan_below)


def forget_plans() -> None:
    """Empties the cache, for time measurements and for tests that change the planner."""
    least_plan.forget()
    plan_below.forget()


MOST_ROWS = 1_000_000  # planned in about a second, with 250 MB
MORE_ROOM = "enlarge the pool, add another --pool, or use --optimize ram"


@dataclass(frozen=True)
class CompiledPlan:
    """The result of a job before it is printed as C code: the final graph, its stages and a checked plan."""

    job: Job  # with the options that were used: the user's, and a budget that the board requires
    steps: tuple[PassStep, ...]  # the passes on the way to the graph
    graph: Graph  # after all passes
    lowered: Lowered
    request: PlanRequest
    plan: Plan
    placement: PlacementInRam | None = None  # of constants; None without --place
    merged: frozenset[str] = frozenset()  # layers that share kernels with others of the same shape

    @cached_property
    def constant_regions(self) -> tuple[str, ...]:
        """Returns the region of each stage's constants, or WITH_THE_CODE."""
        rules, stages = self.job.options.constants, self.lowered.stages
        found = list(constant_regions(stages, rules, self.job.target))
        for each in self.placement.layers if self.placement else ():
            found[each.layer] = each.region
        return tuple(found)

    @cached_property
    def library(self) -> KernelLibrary:
        """Returns the C functions that its kernels call."""
        options = self.job.options
        if not options.at_level.has_schedules:
            return kernel_library(self.lowered.stages, Sharing.NONE)
        sharing = Sharing.PARAMETRIC if options.optimize is Optimize.SIZE else Sharing.EQUAL
        return kernel_library(self.lowered.stages, sharing, self.merged)

    @cached_property
    def stack_bytes(self) -> int:
        """Returns the estimated stack of a run, in bytes."""
        return self.job.options.at_level.stack_times * estimate_stack_bytes(
            self.library,
            [stage.result.image_rows for stage in self.lowered.stages],
            self.plan.order,
            self.graph,
            self.job.target,
            self.job.options.optimize,
            self.lowered.receiver is not None,
        )


@dataclass(frozen=True)
class PlannedVariant:
    """A variant and its plan, not yet checked."""

    variant: Variant
    grouped: Grouped
    plan: Plan

    def checked(self, job: Job, steps: tuple[PassStep, ...]) -> CompiledPlan:
        """Checks the plan and returns it; `steps` are the passes before the variant's own."""
        check_plan(self.grouped.request, self.plan)
        request, plan = self.variant.request, self.plan
        used = tuple(pool for pool in request.pools if plan.pool_bytes[pool.name]) or request.pools[:1]
        sizes = {pool.name: plan.pool_bytes[pool.name] for pool in used}
        plan = one_by_one(replace(plan, pool_bytes=sizes), self.grouped)
        request, variant = replace(request, pools=used), self.variant
        placed, lowered = variant.placed, variant.lowered
        lowered = on_two_cores(lowered) if job.options.cores == TWO else lowered
        merged = variant.decisions.merged
        return CompiledPlan(job, (*steps, *placed.steps), placed.graph, lowered, request, plan, merged=merged)


@dataclass(frozen=True)
class Variant:
    """One way to lower a graph: the decisions about its layers."""

    graph: Graph  # before the passes of VARIANT
    target: Target
    options: CompileOptions
    pools: tuple[Pool, ...]
    decisions: Decisions
    made: KernelsMade = field(default_factory=KernelsMade)  # kernels that variants share

    @cached_property
    def placed(self) -> PassRun:
        """Runs the passes of VARIANT, for the kernels that the layers have in this variant."""
        sites = Sites(self.graph, self.target, self.options, self.decisions, self.made)
        goal = VariantGoal(slow_sums(sites))
        return run_passes(self.graph, variant_passes(goal), self.options.left_out_passes)

    @cached_property
    def lowered(self) -> Lowered:
        return lower_graph(self.placed.graph, self.target, self.options, self.decisions, self.made)

    @cached_property
    def request(self) -> PlanRequest:
        options, is_roomy = self.options, self.decisions.is_roomy
        starts_at_once = is_roomy and options.optimize is Optimize.SPEED
        tensors = plan_tensors(self.lowered, keeps_padding=is_roomy)
        _require_plannable(tensors)
        stages = plan_stages(self.lowered, work_of(self.graph))
        if options.caller_owns_io:
            tensors, stages = without_io(tensors, stages)
        return PlanRequest(tensors, stages, self.pools, options.interleaves_rows, starts_at_once)

    @cached_property
    def grouped(self) -> Grouped:
        """Returns the planner's request; if it has very many steps, they are grouped."""
        return group_steps(self.request)

    def decided(self, **changes: Any) -> Variant:
        """Returns the variant with other decisions, given by field name."""
        return replace(self, decisions=replace(self.decisions, **changes))

    @property
    def unpadded(self) -> Variant:
        """Returns the variant without padding in all layers that can omit it."""
        return self.decided(unpadded=all_layers(self.graph))

    @property
    def memory(self) -> object:
        """Returns a key that is equal for variants with the same rows, steps and scratch."""
        return self.request.tensors, self.request.stages

    def least(self) -> PlannedVariant:
        """Returns the plan with the least memory that the planner finds. Raises FitError."""
        try:
            plan = least_plan(self.grouped.request, self.options.has_solver)
            return PlannedVariant(self, self.grouped, plan)
        except FitError as error:
            raise FitError(error.what, error.where, MORE_ROOM) from None

    def below(self, limit: int, effort: tuple[int, int] = CAREFUL) -> PlannedVariant | None:
        """Returns the plan with the least memory, or None if it needs `limit` bytes or more."""
        plan = plan_below(self.grouped.request, limit, self.options.has_solver, effort)
        return None if plan is None else PlannedVariant(self, self.grouped, plan)

    def like(
        self,
        other: PlannedVariant,
        limit: int,
        effort: tuple[int, int] = CAREFUL,
        is_least: bool = False,
    ) -> PlannedVariant | None:
        """Returns a plan in the order of another variant's, or None if that needs more than `limit` bytes."""
        its = self.grouped.request
        plan = plan_like(its, other.grouped.request, other.plan, limit, effort, is_least)
        return None if plan is None else PlannedVariant(self, self.grouped, plan)


def _require_plannable(tensors: Sequence[PlanTensor]) -> None:
    """Raises ModelError if row lifetimes would need gigabytes of memory."""
    rows = sum(tensor.rows for tensor in tensors)
    if rows > MOST_ROWS:
        most = max(tensors, key=lambda tensor: tensor.rows)
        raise ModelError(
            f"the tensors have {rows:,} rows in total, the limit is {MOST_ROWS:,}",
            f'most of them are in "{most.name}": {most.rows:,} of {most.row_bytes:,} bytes',
            "models for microcontrollers have thousands of rows: split the input",
        )
