"""Searches an order of steps: hill climbing over hints, within a budget of counted work.

An order is judged by the bytes of its rings over time. That is fast to compute and close to the result of
placement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from aot.plan.demand import OrderHints, order_by_demand
from aot.plan.lives import Lives, bytes_over_time, live, ring_bytes_over_time, ring_lengths
from aot.plan.steps import Ints, Steps
from aot.plan.wholes import WholeOrder

SEARCH_STEPS = 120_000  # steps ordered, by all trials of a climb together
SEARCH_ROWS = 1_200_000  # rows whose lifetimes are computed, by all trials of a climb together
ALIKE = 4  # of the best drafts from several climbs, placed even if they rank equally
_IDLE_ROUNDS = 1  # a position idle for more rounds of all stages than this can hold other data


@dataclass(frozen=True, slots=True)
class DraftOrder:
    """An order with its ring lengths and live bytes."""

    order: tuple[int, ...]
    lives: Lives
    rings: Ints
    live_bytes: Ints  # by time
    estimate: int  # bytes of the arena

    @property
    def bound(self) -> int:
        return int(self.live_bytes.max())

    @property
    def rank(self) -> tuple[int, int]:
        return self.estimate, self.bound


def draft(steps: Steps, order: Sequence[int]) -> DraftOrder:
    lives = live(steps, order)
    rings = ring_lengths(steps, lives)
    idle_steps = _IDLE_ROUNDS * len(steps.counts)
    estimate = int(ring_bytes_over_time(steps, lives, rings, idle_steps).max())
    return DraftOrder(tuple(order), lives, rings, bytes_over_time(steps, lives), estimate)


def search_orders(steps: Steps, wholes: WholeOrder) -> list[DraftOrder]:
    """Returns the drafts worth placing, best first; always includes the stages in the given order.

    The best draft of each climb comes first. Few of the drafts have the same rank.
    """
    drafts = [draft(steps, _in_turn(steps, wholes.stages)), draft_given(steps)]
    starts, drafted = _starts(steps) if steps.request.rows else [], _Drafts(steps)
    climbs = [_climb(drafted, start) for start in starts]
    ranked = sorted([*drafts, *(d for climb in climbs for d in climb)], key=_by_rank)
    if len(climbs) > 1:
        heads = sorted((min(climb, key=_by_rank) for climb in climbs), key=_by_rank)
        ranked = [*heads, *ranked[:ALIKE], *_one_of_each_rank(ranked)]
    return list({d.order: d for d in ranked}.values())


def _one_of_each_rank(drafts: Sequence[DraftOrder]) -> Iterable[DraftOrder]:
    """Returns the first draft of each rank."""
    first: dict[tuple[int, int], DraftOrder] = {}
    for each in drafts:
        first.setdefault(each.rank, each)
    return first.values()


def _by_rank(draft: DraftOrder) -> tuple[tuple[int, int], tuple[int, ...]]:
    return draft.rank, draft.order


def draft_given(steps: Steps) -> DraftOrder:
    """Returns the draft of the stages in the given order, without a search."""
    return draft(steps, _in_turn(steps, range(len(steps.counts))))


def _in_turn(steps: Steps, stages: Sequence[int]) -> list[int]:
    return [stage for stage in stages for _ in range(steps.counts[stage])]


class _Drafts:
    """Caches drafts by hints. Many hints give the same order, and climbs meet the same hints again."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._orders: dict[OrderHints, tuple[int, ...]] = {}
        self._drafts: dict[tuple[int, ...], DraftOrder] = {}

    def of(self, hints: OrderHints) -> DraftOrder:
        if hints not in self._orders:
            self._orders[hints] = tuple(order_by_demand(self.steps, hints))
        order = self._orders[hints]
        return self._drafts.get(order) or self._drafts.setdefault(order, draft(self.steps, order))


def _climb(drafts: _Drafts, plain: Sequence[OrderHints]) -> list[DraftOrder]:
    """Climbs from plain hints to better neighbors until none is better or the work is used up.

    It climbs from the best of all, then from the best of each other kind, which may end better. Returns the
    drafts of the climb that ends best.
    """
    tried = {each: drafts.of(each) for each in plain}
    starts = sorted(plain, key=lambda each: tried[each].rank)
    budget, climbs = _trials(drafts.steps) - len(tried), list[dict[OrderHints, DraftOrder]]()
    for start in (next(each for each in starts if each.eager == eager) for eager in _kinds(starts)):
        trials, best = dict(tried), start
        while True:
            round_ = [each for each in _neighbours(drafts.steps, best) if each not in trials]
            round_ = round_[: max(budget, 0)]
            budget -= len(round_)
            trials |= {each: drafts.of(each) for each in round_}
            following = min((best, *round_), key=lambda each: trials[each].rank)
            if trials[following].rank >= trials[best].rank:
                break
            best = following
        climbs.append(trials)
    trials = min(climbs, key=lambda each: min(draft.rank for draft in each.values()))
    return list({each.order: each for each in trials.values()}.values())


def _trials(steps: Steps) -> int:
    return min(SEARCH_STEPS // max(sum(steps.counts), 1), SEARCH_ROWS // max(steps.row_starts[-1], 1))


def _plain(steps: Steps) -> Iterator[OrderHints]:
    for eager in dict.fromkeys((frozenset(), frozenset(_branches(steps)))):
        for in_step in (False, True):
            yield OrderHints(eager=eager, in_step=in_step)


def _starts(steps: Steps) -> list[list[OrderHints]]:
    """Returns the hints at which climbs begin: the best of each kind.

    There are several kinds if stages write parts of one tensor. Demand does not order these stages, and
    small changes cannot find out whether none, some or all of them should run as soon as possible.
    """
    plain = list(_plain(steps))
    written = [name for stage in steps.request.stages for name in stage.writes]
    if len(set(written)) == len(written):
        return [plain]
    everything = OrderHints(eager=frozenset(range(len(steps.counts))))
    return [*([each for each in plain if each.eager == eager] for eager in _kinds(plain)), [everything]]


def _kinds(plain: Sequence[OrderHints]) -> Iterable[frozenset[int]]:
    return dict.fromkeys(hints.eager for hints in plain)


def _neighbours(steps: Steps, hints: OrderHints) -> Iterator[OrderHints]:
    for stage in _joins(steps):
        yield replace(hints, flipped=hints.flipped ^ {stage})
    for stage in _branches(steps):
        yield replace(hints, eager=hints.eager ^ {stage})
    for stage in range(len(steps.counts)):
        yield replace(hints, cuts=hints.cuts ^ {stage})


def _joins(steps: Steps) -> list[int]:
    return [n for n, waits in enumerate(steps.waits) if any(len(step) > 1 for step in waits)]


def _branches(steps: Steps) -> list[int]:
    """Returns the stages that share an input with another stage."""
    stages = steps.request.stages
    readers: dict[str, list[int]] = {}
    for number, stage in enumerate(stages):
        for name in dict.fromkeys(stage.reads):
            readers.setdefault(name, []).append(number)
    return sorted({number for numbers in readers.values() if len(numbers) > 1 for number in numbers})
