"""Searches the placements of a graph: how far its sequences are split into rows, and variants of each.

Without a limit of memory the smallest plan is taken, of placements that cost next to no time, or little time
if memory is the goal. With a limit the first that keeps to it is taken, the fastest placement first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.passes.pipeline import PassRun, run_passes
from aot.passes.placement_goal import PlacementGoal
from aot.passes.table import placement_passes
from aot.target import Optimize
from codegen.fit.no_room import NoRoomError
from codegen.fit.result_places_tried import (
    may_be_smaller,
    shows_views,
    spreads_tried,
    worthwhile_bytes,
)
from codegen.fit.variant import CompiledPlan, PlannedVariant
from codegen.fit.variant_search import TRIED_ROWS, PlanCache, find_variant, limit_of
from codegen.job import Job
from codegen.lower.decisions import Decisions, decisions_for
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
    compiled, FitError or NoRoomError of the placement that needs least.
    """
    target, options = job.kernel_target, job.options
    search = _Tries(job, limit_of(target, options) is not None, compact)
    for placement, its_options in _candidates(meaning.graph, options, search.has_limit):
        search.try_placement(placement, its_options)
        if search.found and search.has_limit:
            break
    if not search.found:
        raise search.failed[-1]
    if not search.has_limit:
        search.try_copies()
    best, placement = search.best
    return best.checked(job, (*meaning.steps, *placement.steps))


@dataclass
class _Tries:
    """Collects the plans of candidates, each smaller than those before, or within the limit."""

    job: Job
    has_limit: bool
    compact: frozenset[str]
    found: list[tuple[PlannedVariant, PassRun]] = field(default_factory=list)
    failed: list[FitError | NoRoomError] = field(default_factory=list)
    cache: PlanCache = field(default_factory=PlanCache)

    def try_placement(self, placement: PassRun, options: CompileOptions) -> None:
        """Tries where its results can go, as long as less memory is possible or none has been found."""
        first, *others = spreads_tried(placement.graph, options)
        decided = self._decided(placement.graph, options)
        at_once = self._planned(placement, options, replace(decided, spread=first))
        for spread in others:
            if self.found and self.has_limit:
                return
            if at_once is None or may_be_smaller(spread, at_once):
                self._planned(placement, options, replace(decided, spread=spread))

    def try_copies(self) -> None:
        """Tries copies of outputs for the best that was found, where that is not proven to be least.

        A plan of very many rows takes long, and is not made again for what is a matter of chance.
        """
        best, placement = self.best
        is_open = not best.plan.is_least and len(best.plan.order) <= TRIED_ROWS
        if is_open and shows_views(placement.graph):
            decided = self._decided(placement.graph, best.variant.options)
            self._planned(placement, best.variant.options, replace(decided, copies_views=True))

    @property
    def best(self) -> tuple[PlannedVariant, PassRun]:
        return min(self.found, key=lambda each: each[0].plan.arena_bytes)

    def _decided(self, graph: Graph, options: CompileOptions) -> Decisions:
        """Where the search begins."""
        goal, limited = decisions_for(graph, options.optimize, self.job.tuned), options.ram_bytes is not None
        return replace(goal, compact=self.compact, is_roomy=goal.is_roomy and not limited)

    def _planned(
        self, placement: PassRun, options: CompileOptions, decided: Decisions
    ) -> PlannedVariant | None:
        """The plan that begins with these decisions, where it is taken."""
        spreads = bool(decided.spread)
        most = self._worthwhile if spreads else None
        cache = self.cache
        if self.has_limit or spreads:
            cache = PlanCache(most, [] if self.has_limit else self.cache.planned)
        try:
            planned = find_variant(placement.graph, self.job.kernel_target, options, decided, cache)
        except (FitError, NoRoomError) as error:
            self.failed.append(error)
            return None
        if planned is None or (most is not None and planned.plan.arena_bytes > most):
            return None
        self.found.append((planned, placement))
        if spreads:
            self.cache.bytes = planned.plan.arena_bytes
        return planned

    @property
    def _worthwhile(self) -> int | None:
        """The bytes that are worth more calls; None where any are."""
        sizes = [planned.plan.arena_bytes for planned, _ in self.found]
        return worthwhile_bytes(min(sizes)) if sizes and not self.has_limit else None


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
