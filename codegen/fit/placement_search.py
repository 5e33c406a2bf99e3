"""Finds the fastest plan without a budget, and the starting points of the search for other plans.

Placements differ in how far sequences are split into rows. Without a budget, the smallest plan is chosen
among placements that cost next to no time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from aot.errors import FitError
from aot.ir.graph import Graph, Node
from aot.ir.region import DeviceRegion
from aot.ir.types import TensorType
from aot.ops.rearrange import Rearrange, is_vector
from aot.passes.goals import CostModel, PlacementGoal
from aot.passes.pipeline import PassRun, placement_passes, run_passes
from aot.passes.values import behind_views
from aot.plan.model import Pool
from codegen.accelerators.table import strategies_with
from codegen.c.arenas import ANY_REGION, NO_LIMITS, chosen_pools, pools_for
from codegen.fit.memory_use import arena_limits
from codegen.fit.variant import CompiledPlan, PlannedVariant, Variant, pools_demanded
from codegen.job import Job
from codegen.kernels.rearrange import can_spread
from codegen.lower.decisions import NO_LAYER, decisions_for
from codegen.lower.tensors import can_be_streamed, is_view, streamed_input
from codegen.options import CompileOptions

# Result layouts worth trying for a graph, fastest first.
#
# Spreading: a layer can write each input row to its final places on arrival. Its input need not exist as a
# whole, but its output is live from the first row on. That helps if the input is small and the output large;
# only planning both ways shows it.
#
# Copied outputs: copying never helps an optimal plan. But plans are found by a search, and in a large graph a
# copy may let it find a smaller one. It is tried for the best candidate, unless that is proven smallest.

_WORTH = 32  # the inverse of the smallest share of the arena that justifies an extra call per row


def spreads_tried(graph: Graph, options: CompileOptions) -> Sequence[frozenset[str]]:
    """Returns the sets of layers to spread, fastest first: the empty set comes first."""
    moves = [node for node in graph.nodes if isinstance(node.op, Rearrange)]
    spread = frozenset(node.name for node in moves if can_spread(node.op, _rows_of(node, graph)))
    found = [NO_LAYER]
    if spread and options.interleaves_rows:
        found.append(spread)
    return found


def shows_views(graph: Graph) -> bool:
    """Returns whether an output is a view, which could also be copied."""
    return any(behind_views(output, graph) != output for output in graph.outputs)


def may_be_smaller(spread: frozenset[str], planned: PlannedVariant) -> bool:
    """Returns whether an image that spreading these layers avoids is live at the peak of that plan."""
    images = {
        reading.tensor
        for stage in planned.variant.lowered.stages
        if stage.node is not None and stage.node.name in spread
        for reading in stage.reads
    }
    return not images.isdisjoint(planned.plan.peak_buffers)


def min_gain_bytes(arena_bytes: int) -> int:
    """Returns the largest arena that justifies more calls, given one of `arena_bytes` without spreading."""
    return arena_bytes - arena_bytes // _WORTH


def _rows_of(node: Node, graph: Graph) -> TensorType:
    """Returns the type of the node's input; if that is an image in one vector, the image's."""
    (value,) = node.reads
    image = behind_views(value, graph)
    is_image_in_a_vector = is_vector(graph.types[value]) and image in graph.producers
    return graph.types[image if is_image_in_a_vector else value]


# The measured costs of rows, for passes that split values into rows.
#
# Measured on a Cortex-M4, whose convolutions are SMLAD tiles of four pixels, or of three and two at a row's
# end. No other core has been measured yet; with a second one, this should become a table by core.

MEASURED_COSTS = CostModel(
    lost_pixels_by_remainder=(0.27, 0.65, 0.52, 0.4),
    macs_per_copied_byte=0.3,
    macs_per_call=100,
    min_macs_per_row=1024,  # starting a row costs about ten multiplications
    min_row_bytes=4,
)


# Fractions of its time that a convolution along a sequence may lose to short rows, in the order of trials.
_SLOWDOWN_STEPS = (0.0, 0.03, 0.05, 0.1, 0.4, 100.0)
_MAX_SLOWDOWN = 0.03  # without a budget
_ANY_SLOWDOWN = _SLOWDOWN_STEPS[-1]
_MOST_ROWS = 10_000  # larger plans take long, and are not repeated for chance improvements


@dataclass(frozen=True)
class Start:
    """A variant as the goal alone decides it, and the passes of PLACEMENT before it."""

    variant: Variant
    placement: PassRun
    slowdown: float  # fraction of their time that convolutions along sequences may lose


def fastest_plan(meaning: PassRun, job: Job, compact: frozenset[str] = frozenset()) -> CompiledPlan:
    """Returns the plan without a budget for the job's model after the passes of MEANING.

    Layers in `compact` store their weights untransformed. Raises ModelError if the model is not supported,
    FitError if the pools of the options are too small.
    """
    planned, placement = fastest_variant(meaning, job, compact)
    return checked_plan(meaning, placement, planned, job)


def checked_plan(meaning: PassRun, placement: PassRun, planned: PlannedVariant, job: Job) -> CompiledPlan:
    return planned.checked(job, (*meaning.steps, *placement.steps))


def fastest_variant(
    meaning: PassRun, job: Job, compact: frozenset[str] = frozenset()
) -> tuple[PlannedVariant, PassRun]:
    """Returns the smallest of the plans that cost next to no time, in memories that can hold it."""
    search = _Smallest(job, compact)
    for _, placement in placements(meaning.graph, job.options, _MAX_SLOWDOWN):
        search.try_placement(placement)
    search.try_copies()
    search.try_ordinary_code()
    planned, placement = search.best
    return in_memories(planned, job), placement


def starts(meaning: PassRun, job: Job) -> Iterator[Start]:
    """Yields the starting points of the search for plans within budgets: every placement, fastest first."""
    for slowdown, placement in placements(meaning.graph, job.options, _ANY_SLOWDOWN):
        # Short code saves little flash, and leads to orders of rows whose neighbors are worse.
        first = variant_for(placement, job).decided(brief=frozenset())
        for spread in spreads_tried(placement.graph, job.options):
            yield Start(first.decided(spread=spread), placement, slowdown)


def variant_for(placement: PassRun, job: Job, compact: frozenset[str] = frozenset()) -> Variant:
    graph, options = placement.graph, job.options
    decided = replace(decisions_for(graph, options.optimize, job.tuned), compact=compact)
    return Variant(graph, job.kernel_target, options, (ANY_REGION,), decided)


def in_memories(planned: PlannedVariant, job: Job) -> PlannedVariant:
    """Puts the plan into the memories of the user or of kernels' demands, else into the fastest that suffice.

    Raises BoardError, and FitError if the user's memories are too small.
    """
    variant, target = planned.variant, job.kernel_target
    limits = arena_limits(job, variant.lowered.stages) if job.options.region_limits("ram") else NO_LIMITS
    chosen = chosen_pools(target, job.options.pools, limits)
    demanded = pools_demanded(variant.lowered.stages, target, chosen) if _may_demand(variant) else ()
    if limits and not demanded:
        chosen = chosen[:1] if _has_room(chosen[0], planned) else chosen
        if len(target.by_speed("ram")) == 1:  # without a name, other models can share the arena
            chosen = (replace(chosen[0], name=ANY_REGION.name),)
    if demanded or chosen:
        again = replace(variant, pools=demanded or chosen)
        kept = again.like(planned, planned.plan.arena_bytes) if len(again.pools) == 1 else None
        return kept or again.least()
    pools = pools_for(target, planned.plan.arena_bytes)
    if not pools:
        return planned
    try:
        return replace(variant, pools=pools).least()
    except FitError:  # the error for an undivided arena is shown instead
        return planned


def _has_room(pool: Pool, planned: PlannedVariant) -> bool:
    return pool.bytes is not None and planned.plan.arena_bytes <= pool.bytes


def _may_demand(variant: Variant) -> bool:
    """Returns whether a kernel may demand a memory of the board. A cheap check that avoids lowering."""
    nodes = [node for node in variant.graph.nodes if not is_view(node)]
    ops = {node.op if isinstance(node.op, DeviceRegion) else node.op.name: node.op for node in nodes}
    words = variant.options.accelerators
    target = variant.target
    return any(
        strategy.demand.memories for op in ops.values() for strategy in strategies_with(words, op, target)
    )


@dataclass
class _Smallest:
    """Collects plans, each smaller than the ones before."""

    job: Job
    compact: frozenset[str]
    found: list[tuple[PlannedVariant, PassRun]] = field(default_factory=list)
    known: list[object] = field(default_factory=list)  # variants already planned

    @property
    def best(self) -> tuple[PlannedVariant, PassRun]:
        return min(self.found, key=lambda each: each[0].plan.arena_bytes)

    def try_placement(self, placement: PassRun) -> None:
        """Tries result layouts of a placement as long as less memory is possible."""
        variant = variant_for(placement, self.job, self.compact)
        first, *others = spreads_tried(placement.graph, self.job.options)
        at_once = self._planned(variant.decided(spread=first), placement)
        for spread in others:
            if at_once is None or may_be_smaller(spread, at_once):
                most = min_gain_bytes(self.best[0].plan.arena_bytes) + 1
                self._planned(variant.decided(spread=spread), placement, most)

    def try_copies(self) -> None:
        """Tries copied outputs for the best plan, unless it is proven smallest."""
        best, placement = self.best
        is_open = not best.plan.is_least and len(best.plan.order) <= _MOST_ROWS
        if is_open and shows_views(placement.graph):
            self._planned(best.variant.decided(spread=frozenset(), copies_views=True), placement)

    def try_ordinary_code(self) -> None:
        """Tries the best plan without layers of short code, unless it is proven smallest."""
        best, placement = self.best
        is_open = not best.plan.is_least and len(best.plan.order) <= _MOST_ROWS
        if is_open and best.variant.decisions.brief:
            most = min_gain_bytes(best.plan.arena_bytes) + 1
            self._planned(best.variant.decided(brief=frozenset()), placement, most)

    def _planned(
        self, variant: Variant, placement: PassRun, most: int | None = None
    ) -> PlannedVariant | None:
        """Returns the plan if it is smaller than earlier ones and than `most` bytes, else None."""
        if variant.memory in self.known:
            return None
        self.known.append(variant.memory)
        limits = [best.plan.arena_bytes for best, _ in self.found] + ([most] if most is not None else [])
        planned = variant.below(min(limits)) if limits else variant.least()
        if planned is not None:
            self.found.append((planned, placement))
        return planned


def placements(
    graph: Graph, options: CompileOptions, most_slowdown: float
) -> Sequence[tuple[float, PassRun]]:
    """Returns the placements that lose at most that share of their time, fastest first, without duplicates.

    For a streamed model, only those whose input can come row by row, or the one with all splits if no other
    can. Raises ModelError if the input cannot be streamed at all.
    """
    steps = _SLOWDOWN_STEPS if options.interleaves_rows else _SLOWDOWN_STEPS[:1]
    found: list[tuple[float, PassRun]] = []
    for slowdown in (step for step in steps if step <= most_slowdown):
        placed = _placed(graph, options, slowdown)
        if not any(placed.graph.nodes == other.graph.nodes for _, other in found):
            found.append((slowdown, placed))
    if not options.stream:
        return found
    streamable = [each for each in found if can_be_streamed(each[1].graph)]
    all_split = _placed(graph, options, _ANY_SLOWDOWN)
    if not streamable:
        streamed_input(all_split.graph)
    return streamable or [(_ANY_SLOWDOWN, all_split)]


def _placed(graph: Graph, options: CompileOptions, max_slowdown: float) -> PassRun:
    goal = PlacementGoal(MEASURED_COSTS, max_slowdown, options.stream)
    return run_passes(graph, placement_passes(goal), options.left_out_passes)
