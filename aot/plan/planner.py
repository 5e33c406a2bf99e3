"""The memory planner: order, rings, offsets; keeps the best of several orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, le
from sys import maxsize

import numpy as np

from aot.errors import FitError
from aot.plan.conflicts import forbidden_distances
from aot.plan.floor import placement_floor
from aot.plan.model import Plan, PlannedBuffer, PlanRequest
from aot.plan.order import (
    DraftOrder,
    draft,
    draft_given,
    order_like,
    search_orders,
    started_early,
    starting_stages,
    waited_late,
)
from aot.plan.place import (
    BlockPacking,
    Cost,
    CrowdPacking,
    Placement,
    improve,
    is_crowded,
    place_again,
    place_around,
    place_in_sequences,
    place_no_lower,
)
from aot.plan.rings import Block, find_in_place_overlaps, make_blocks, ring_bytes_over_time
from aot.plan.steps import Steps, number_steps
from aot.plan.wholes import order_whole_stages

PLACED_ORDERS = 8  # most orders that are placed; the two limits below reduce it
PLACED_ROWS = 1_000_000  # most rows in all placed orders together
PLACED_PAIRS = 4_000_000  # most pairs of tensors in them
REFINED_ORDERS = 2  # orders placed with CAREFUL effort, besides the one with the lowest floor
Effort = tuple[int, int]  # the most pairs of blocks examined, and trials, in one search for a placement
QUICK: Effort = (100_000, 150)
CAREFUL: Effort = (12_000_000, 1500)
_BY_COST = attrgetter("cost")


@dataclass(frozen=True, slots=True)
class _Placed:
    draft: DraftOrder
    packing: BlockPacking | CrowdPacking
    placement: Placement
    floor: int  # lower bound of any placement of these rings in this order
    is_proven: bool = False

    @property
    def is_least(self) -> bool:
        """Returns whether it is proven that no placement of these rings in this order is smaller."""
        missing, _, taken = self.cost
        return self.is_proven or (missing, taken) == (0, self.floor)

    @property
    def cost(self) -> Cost:
        return self.placement.cost


def make_plan(request: PlanRequest, exact: bool = False) -> Plan:
    """Plans deterministically. Raises FitError if the pools are too small, PlanError for an invalid request.

    With `exact`, a solver improves the placement in a single pool, or proves it smallest, if the search ended
    above the floor.
    """
    plan = _find(request, exact, None)
    assert plan is not None
    return plan


def find_plan_below(
    request: PlanRequest, limit: int, exact: bool = False, effort: Effort = CAREFUL
) -> Plan | None:
    """Like make_plan, but for an arena of fewer than `limit` bytes; stops as soon as that is impossible."""
    return _find(request, exact, limit, effort)


def plan_like(
    request: PlanRequest,
    other: PlanRequest,
    its: Plan,
    limit: int,
    effort: Effort = CAREFUL,
    is_least: bool = False,
) -> Plan | None:
    """Plans in the order of a similar request's plan; returns None if `limit` bytes are too few.

    The search for a placement ends as soon as it keeps to the limit, or with `is_least` after all its effort.
    """
    steps = number_steps(request)
    order = draft(steps, order_like(steps, other.stages, its.order))
    if order.bound > limit:
        return None
    placed = _place(steps, order)
    if placed.floor > limit:
        return None
    offsets = {name: buffer.offset for name, buffer in its.buffers.items()}
    starts = [min(placed.placement, place_again(placed.packing, offsets), key=_BY_COST)]
    if isinstance(placed.packing, BlockPacking):
        around, no_lower = place_around(placed.packing, its.buffers), place_no_lower(placed.packing, offsets)
        starts = [around, no_lower, *starts]
    for start in dict.fromkeys(starts):
        tried = _refine(replace(placed, placement=start), effort, 0 if is_least else limit)
        placed = min(placed, tried, key=_BY_COST)
        if _keeps_to(limit, placed) and not is_least:
            break
    if not _keeps_to(limit, placed):
        return None
    return _plan(steps, placed, limit)


def floor_like(
    request: PlanRequest, other: PlanRequest, order: Sequence[int]
) -> tuple[int, Mapping[str, int]]:
    """Computes the needs of a request in the order of a similar one's plan, without placement.

    Returns a lower bound of any placement in bytes, and the bytes of rings in use while each stage runs.
    """
    steps = number_steps(request)
    its = draft(steps, order_like(steps, other.stages, order))
    over_time = ring_bytes_over_time(steps, its.lives, its.rings, len(steps.counts))
    in_use = {
        stage.name: int(over_time[its.lives.times[first:stop]].max())
        for stage, first, stop in zip(request.stages, steps.starts[:-1], steps.starts[1:], strict=True)
        if first < stop
    }
    blocks = make_blocks(steps, its.lives, its.rings)
    if is_crowded(blocks):
        return its.bound, in_use
    allowed = find_in_place_overlaps(steps, its.lives, its.rings)
    forbidden = forbidden_distances(blocks, allowed, its.lives.after)
    return max(its.bound, placement_floor(BlockPacking(blocks, forbidden, request.pools))), in_use


def _keeps_to(limit: int, placed: _Placed) -> bool:
    missing, _, taken = placed.cost
    return (missing, taken) <= (0, limit)


def _find(request: PlanRequest, exact: bool, limit: int | None, effort: Effort = CAREFUL) -> Plan | None:
    steps, wholes = number_steps(request), order_whole_stages(request)
    most = max(min(PLACED_ORDERS, PLACED_ROWS // max(steps.row_starts[-1], 1)), REFINED_ORDERS)
    most = min(most, max(PLACED_PAIRS // max(len(request.tensors), 1) ** 2, 1))
    drafts = [draft_given(steps), *search_orders(steps, wholes)[:most]]
    if limit is not None and all(each.bound >= limit for each in drafts):
        return None
    careful = [_refine(placed, effort) for placed in _worth_care(steps, drafts, limit)]
    if not careful:
        return None
    best = min(careful, key=_BY_COST)
    if exact:
        best = _exact(best)
    if limit is None:
        return _plan(steps, best, maxsize)
    return _plan(steps, best, limit - 1) if best.cost < (0, 0, limit) else None


def _worth_care(steps: Steps, drafts: Sequence[DraftOrder], limit: int | None) -> list[_Placed]:
    """Returns the best draft after a quick placement, and the one that could become best."""
    quick = [_place(steps, drafts[0])]
    for its in drafts[1:]:
        if all((0, 0, its.bound) < placed.cost for placed in quick):
            quick.append(_refine(_place(steps, its), QUICK))
    quick.sort(key=_BY_COST)
    lowest = min(quick, key=lambda placed: placed.floor)
    wanted = [placed for n, placed in enumerate(quick) if n < REFINED_ORDERS or placed is lowest]
    return [placed for placed in wanted if limit is None or placed.floor < limit]


def _exact(placed: _Placed) -> _Placed:
    from aot.plan.floor import solve_placement

    packing = placed.packing
    if isinstance(packing, CrowdPacking) or len(packing.pools) != 1 or placed.is_least:
        return placed
    placement, is_proven = solve_placement(packing, placed.placement, placed.floor)
    return replace(placed, placement=placement, is_proven=is_proven)


def _place(steps: Steps, draft: DraftOrder) -> _Placed:
    blocks = make_blocks(steps, draft.lives, draft.rings)
    if is_crowded(blocks):
        crowd = CrowdPacking(blocks, steps.request.pools)
        return _Placed(draft, crowd, place_in_sequences(crowd), draft.bound)
    allowed = find_in_place_overlaps(steps, draft.lives, draft.rings)
    packing = BlockPacking(
        blocks, forbidden_distances(blocks, allowed, draft.lives.after), steps.request.pools
    )
    return _Placed(draft, packing, place_in_sequences(packing), max(draft.bound, placement_floor(packing)))


def _refine(placed: _Placed, effort: Effort, enough: int = 0) -> _Placed:
    """Improves the placement within the effort, until it is proven smallest or small enough."""
    if isinstance(placed.packing, CrowdPacking):
        return placed
    work, most = effort
    trials = min(work // len(placed.packing.blocks) ** 2, most)
    placement = improve(placed.packing, placed.placement, max(placed.floor, enough), trials)
    return replace(placed, placement=placement)


def _with_early_starts(steps: Steps, placed: _Placed, most: int) -> _Placed:
    """Starts devices early so that they run in parallel, if memory allows or the request permits it."""
    for stage in starting_stages(steps, placed.draft.order):
        early = started_early(steps, placed.draft.order, stage)
        for order in (waited_late(steps, early, stage), early):
            if order == placed.draft.order:
                break
            tried = _place(steps, draft(steps, order))
            names = (block.name for block in placed.packing.blocks)
            before = place_again(tried.packing, dict(zip(names, placed.placement.offsets, strict=True)))
            tried = replace(tried, placement=min(tried.placement, before, key=_BY_COST))
            tried = _refine(tried, QUICK, placed.cost[-1])
            missing, _, taken = tried.cost
            is_free = all(map(le, tried.cost, placed.cost))
            has_room = steps.request.starts_at_once and missing <= placed.cost[0] and taken <= most
            if is_free or has_room:
                placed = tried
                break
    return placed


def _plan(steps: Steps, placed: _Placed, most: int) -> Plan:
    placed = _with_early_starts(steps, placed, most)
    draft, blocks, placement = placed.draft, placed.packing.blocks, placed.placement
    pools = steps.request.pools
    peak = int(np.argmax(draft.live_bytes))
    if placement.missing:
        raise _too_small(steps, placed, peak)
    buffers = {
        block.name: _buffer(block, pools[pool].name, offset, len(draft.order))
        for block, pool, offset in zip(blocks, placement.pools, placement.offsets, strict=True)
    }
    return Plan(
        order=draft.order,
        buffers=buffers,
        pool_bytes={pool.name: end for pool, end in zip(pools, placement.ends, strict=True)},
        bound_bytes=placed.floor,
        is_least=placed.is_least,
        is_crowded=isinstance(placed.packing, CrowdPacking),
        peak_step=_step(peak, len(draft.order)),
        peak_buffers=_at(blocks, peak),
    )


def _buffer(block: Block, pool: str, offset: int, steps: int) -> PlannedBuffer:
    first, last = int(block.first.min(initial=steps + 1)), int(block.last.max(initial=0))
    if first > last:
        first, last = 1, 1  # never accessed
    span = _step(first, steps), _step(last, steps)
    return PlannedBuffer(block.name, pool, offset, block.positions, block.position_bytes, *span)


def _step(time: int, steps: int) -> int:
    """Maps a time to a step; times before and after the run count as the first and last step."""
    return max(0, min(time - 1, steps - 1))


def _at(blocks: Sequence[Block], time: int) -> tuple[str, ...]:
    there = [(_bytes_at(block, time), block.name) for block in blocks]
    return tuple(name for size, name in sorted(there, key=lambda t: (-t[0], t[1])) if size)


def _bytes_at(block: Block, time: int) -> int:
    return int(np.sum((block.first <= time) & (time <= block.last))) * block.position_bytes


def _too_small(steps: Steps, placed: _Placed, peak: int) -> FitError:
    draft, blocks, placement = placed.draft, placed.packing.blocks, placed.placement
    pools = steps.request.pools
    offered = ", ".join(f"pool '{pool.name}' has {pool.bytes:,}" for pool in pools if pool.bytes is not None)
    stage = steps.request.stages[draft.order[_step(peak, len(draft.order))]].name
    largest = ", ".join(f"'{name}'" for name in _at(blocks, peak)[:3])
    return FitError(
        f"the arena does not fit: {placement.missing:,} more bytes needed, {offered}",
        f"peak at '{stage}': {draft.bound:,} bytes live at once, most of them {largest}",
    )
