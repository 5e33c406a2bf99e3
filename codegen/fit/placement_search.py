"""Searches the placements of a graph: how far its sequences are split into rows, and variants of each.

Without a limit of memory the smallest plan is taken, of placements that cost next to no time, or little time
if memory is the goal. With a limit the first that keeps to it is taken, the fastest placement first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.passes.pipeline import PassRun, run_passes
from aot.passes.placement_goal import PlacementGoal
from aot.passes.table import placement_passes
from aot.target import Optimize
from codegen.fit.variant import CompiledPlan, PlannedVariant
from codegen.fit.variant_search import PlanCache, find_variant, limit_of
from codegen.job import Job
from codegen.lower.streaming import can_be_streamed, streamed_input
from codegen.options import CompileOptions
from codegen.row_costs import MEASURED_COSTS

# The share of its time that a convolution along a sequence may lose to short rows, in the order of the tries.
_SLOWDOWN_STEPS = (0.0, 0.03, 0.05, 0.1, 0.4, 100.0)
_MAX_SLOWDOWN = 0.03  # without a limit of memory
_MAX_SLOWDOWN_FOR_RAM = 0.05
_ANY_SLOWDOWN = _SLOWDOWN_STEPS[-1]

Candidate = tuple[PassRun, CompileOptions]  # the passes of PLACEMENT, and the goal of the kernels


def find_plan(meaning: PassRun, job: Job, compact: frozenset[str] = frozenset()) -> CompiledPlan:
    """Finds the best plan for the job's model after the passes of MEANING.

    The layers named as compact store their weights as they are. Raises ModelError for what cannot be
    compiled, FitError of the placement that needs least.
    """
    target, options = job.kernel_target, job.options
    has_limit = limit_of(target, options) is not None
    found: list[tuple[PlannedVariant, PassRun]] = []
    failed: list[FitError] = []
    cache = PlanCache()
    for placement, its_options in _candidates(meaning.graph, options, has_limit):
        its_cache = PlanCache() if has_limit else cache
        try:
            planned = find_variant(placement.graph, target, its_options, job.tuned, its_cache, compact)
        except FitError as error:
            failed.append(error)
            continue
        if planned is not None:
            found.append((planned, placement))
        if found and has_limit:
            break
    if not found:
        raise failed[-1]
    best, placement = min(found, key=lambda each: each[0].plan.arena_bytes)
    return best.checked(job, (*meaning.steps, *placement.steps))


def _candidates(graph: Graph, options: CompileOptions, has_limit: bool) -> Iterator[Candidate]:
    """Yields the fastest placement first. For least memory, kernels of both goals are candidates."""
    most = _MAX_SLOWDOWN_FOR_RAM if options.optimize is Optimize.RAM else _MAX_SLOWDOWN
    steps = _SLOWDOWN_STEPS if options.takes_turns else _SLOWDOWN_STEPS[:1]
    slowdowns = [step for step in steps if has_limit or step <= most]
    placed = list((_streamed if options.stream else _placements)(graph, options, slowdowns))
    yield from ((each, options) for each in placed)
    if options.optimize is Optimize.RAM and not has_limit:
        yield from ((each, replace(options, optimize=Optimize.SPEED)) for each in placed)


def _placements(graph: Graph, options: CompileOptions, slowdowns: Sequence[float]) -> Iterator[PassRun]:
    """Yields a placement for each allowed slowdown, but none twice."""
    before: list[Graph] = []
    for slowdown in slowdowns:
        placed = _placed(graph, options, slowdown)
        if not any(placed.graph.nodes == other.nodes for other in before):
            before.append(placed.graph)
            yield placed


def _streamed(graph: Graph, options: CompileOptions, slowdowns: Sequence[float]) -> Sequence[PassRun]:
    """Returns the placements whose input can come row by row, or the one with all splits if only that can.

    Raises ModelError if the input cannot be streamed at all.
    """
    streamable = [each for each in _placements(graph, options, slowdowns) if can_be_streamed(each.graph)]
    all_split = _placed(graph, options, _ANY_SLOWDOWN)
    if not streamable:
        streamed_input(all_split.graph)
    return streamable or [all_split]


def _placed(graph: Graph, options: CompileOptions, max_slowdown: float) -> PassRun:
    goal = PlacementGoal(MEASURED_COSTS, max_slowdown, options.stream)
    return run_passes(graph, placement_passes(goal), options.left_out_passes)
