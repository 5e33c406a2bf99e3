"""Searches for the fastest variant of a graph that keeps to its limit of memory.

Rows of 16 bits make dot products faster and take twice the memory; padding makes some kernels faster and
rows longer. Without a limit `speed` gives both to all layers. If memory is short, the search first plans the
variant that has neither. Then it upgrades layers, those with most work first, as long as the arena stays
within the limit: rows that are not live at the peak can be widened for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.ir.region import DeviceRegion
from aot.plan.model import Pool
from aot.target import Optimize, Target
from codegen.accelerators.table import schedules_with
from codegen.fit.arenas import ANY_REGION, chosen_pools, pools_for
from codegen.fit.demanded_pools import pools_demanded
from codegen.fit.no_room import NoRoomError
from codegen.fit.upgrades import affordable_upgrades, with_upgrades
from codegen.fit.variant import PlannedVariant, Variant, limit_in
from codegen.lower.decisions import NO_LAYER, Decisions, all_layers
from codegen.lower.views import is_view
from codegen.options import CompileOptions

TRIED_ROWS = 10_000  # rows in all plans that are tried for upgrades of one graph
SEARCHED_ROWS = 2_400  # a plan with more rows keeps its order in the variant without padding


@dataclass
class PlanCache:
    """Remembers plans, so that only smaller ones are searched and none is made twice."""

    bytes: int | None = None  # of the smallest arena so far
    planned: list[object] = field(default_factory=list)

    def smaller_plan(
        self, variant: Variant, similar_to: PlannedVariant | None = None
    ) -> PlannedVariant | None:
        """Plans the variant; None if it needs no less than all before. Raises FitError of the first.

        If the similar variant has very many rows, its order is kept and no other is searched.
        """
        memory = variant.memory
        if memory in self.planned:
            return None
        self.planned.append(memory)
        if self.bytes is None:
            planned: PlannedVariant | None = variant.least()
        elif similar_to is not None and len(similar_to.plan.order) > SEARCHED_ROWS:
            planned = variant.like(similar_to, self.bytes - 1, variant.options.has_solver)
        else:
            planned = variant.below(self.bytes)
        if planned is not None:
            self.bytes = planned.plan.arena_bytes
        return planned


def find_variant(
    graph: Graph,
    target: Target,
    options: CompileOptions,
    decisions: Decisions,
    cache: PlanCache,
) -> PlannedVariant | None:
    """Finds the variant to compile, or None if it needs no less than the cache knows.

    Raises FitError where a pool is too small, NoRoomError where the limit is. The arena is one piece if the
    fastest memory has room for it, else it is spread over the memories.
    """
    chosen = chosen_pools(target, options.pools)
    variant = Variant(graph, target, options, chosen or (ANY_REGION,), decisions)
    demanded = pools_demanded(variant.lowered.stages, target, chosen) if _may_demand(variant) else ()
    if demanded:
        return _find(replace(variant, pools=demanded), PlanCache())
    planned = _find(variant, cache)
    pools = () if chosen or planned is None else pools_for(target, planned.plan.arena_bytes)
    return _in_pools(variant, pools) or planned


def _may_demand(variant: Variant) -> bool:
    """True where a kernel may demand a memory of the board. That is cheap to say; lowering is not."""
    nodes = [node for node in variant.graph.nodes if not is_view(node)]
    ops = {node.op if isinstance(node.op, DeviceRegion) else node.op.name: node.op for node in nodes}
    words = variant.options.accelerators
    return any(schedule.demand.memories for op in ops.values() for schedule in schedules_with(words, op))


def limit_of(target: Target, options: CompileOptions) -> int | None:
    """Bytes that the user allows the arena to take; None if there is no limit."""
    return limit_in(chosen_pools(target, options.pools) or (ANY_REGION,), options)


def _in_pools(variant: Variant, pools: tuple[Pool, ...]) -> PlannedVariant | None:
    """Plans the variant in these pools. None if there are none, or if they have no room: the error is then
    that of the arena in one piece."""
    try:
        return _find(replace(variant, pools=pools), PlanCache()) if pools else None
    except (FitError, NoRoomError):
        return None


def _find(variant: Variant, cache: PlanCache) -> PlannedVariant | None:
    limit = limit_in(variant.pools, variant.options)
    if variant.options.optimize is Optimize.RAM:
        least = _least(variant, cache) if limit is None else _least_in(variant, limit)
        return least and _upgraded(least, least.plan.arena_bytes)
    if limit is None:
        return cache.smaller_plan(variant)
    every = all_layers(variant.graph)
    return (
        _within(variant, limit)
        or _within(variant.decided(compact=every), limit)
        or _upgraded(_least_within(variant.decided(compact=every, widened=NO_LAYER), limit), limit)
    )


def _least(variant: Variant, cache: PlanCache) -> PlannedVariant | None:
    """Plans the variant with padding and without, and returns the smaller one."""
    padded = cache.smaller_plan(variant)
    return cache.smaller_plan(variant.unpadded, similar_to=padded) or padded


def _least_in(variant: Variant, limit: int) -> PlannedVariant:
    """The smaller one with a limit: in one pool no further than until both are known to need more."""
    bound = limit + 1 if len(variant.pools) == 1 else None
    least = _least(variant, PlanCache(bound))
    if least is None or least.plan.arena_bytes > limit:
        raise NoRoomError(limit, lambda: _some(_least(variant, PlanCache())))
    return least


def _some(planned: PlannedVariant | None) -> PlannedVariant:
    assert planned is not None  # nothing else was planned before
    return planned


def _within(variant: Variant, limit: int) -> PlannedVariant | None:
    """Plans the variant; in one pool, no further than until it is known to need more."""
    if len(variant.pools) == 1:
        return variant.below(limit + 1)
    try:
        planned = variant.least()
    except FitError:
        return None
    return planned if planned.plan.arena_bytes <= limit else None


def _least_within(variant: Variant, limit: int) -> PlannedVariant:
    """Plans the variant without padding, or with padding if only that keeps to the limit."""
    planned = _within(variant.unpadded, limit) or _within(variant, limit)
    if planned is None:
        raise NoRoomError(limit, variant.unpadded.least)
    return planned


def _upgraded(planned: PlannedVariant, limit: int) -> PlannedVariant:
    """Upgrades as many layers as the arena has room for: all at once, else one, two, four at a time."""
    best, left = planned, affordable_upgrades(planned, limit)
    count = len(left)
    for _ in range(TRIED_ROWS // len(planned.plan.order) if left else 0):
        found = with_upgrades(best.variant, left[:count]).like(best, limit)
        if found is not None:
            best, left, count = found, left[count:], 2 * count
        elif count == 1:
            left = left[1:]
        else:
            count = 1
        if not left:
            break
    is_exact = planned.variant.options.has_solver and best is not planned
    return best.variant.like(best, limit, exact=True) or best if is_exact else best
