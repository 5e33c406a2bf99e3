"""Orders of steps: each runs just before another needs its rows; a search finds better orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from aot.plan.model import Stage
from aot.plan.rings import Lives, bytes_over_time, live, ring_bytes_over_time, ring_lengths
from aot.plan.steps import Ints, Steps, Wait
from aot.plan.wholes import WholeOrder

# Orders steps by demand: each runs just before another needs its rows.
#
# Hints change that order. A *cut* stage finishes all its rows before later stages run, which helps if it
# shrinks a dying input. An *eager* stage runs as soon as its inputs exist, which helps if a tensor has
# several readers and this one frees more than it writes. A *flipped* stage demands its inputs in reverse.


NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class OrderHints:
    cuts: frozenset[int] = NONE
    eager: frozenset[int] = NONE
    flipped: frozenset[int] = NONE
    in_step: bool = False  # the last stages, if several, advance together


def order_by_demand(steps: Steps, hints: OrderHints) -> list[int]:
    """Returns all steps, driven by the cuts and then by the last stages."""
    walk = _DemandWalk(steps, hints)
    last, rest = _goals(steps)
    for stage in sorted(hints.cuts):
        walk.demand(stage, steps.counts[stage])
    for stage, count in (*(_in_step(last) if hints.in_step else last), *rest):
        walk.demand(stage, count)
    return walk.order


def order_like(steps: Steps, stages: Sequence[Stage], order: Sequence[int]) -> list[int]:
    """Returns all steps in the order of other stages, matched by name if possible."""
    numbers = {name: number for number, name in enumerate(_names(steps.request.stages))}
    known = [numbers.get(name) for name in _names(stages)]
    walk, asked = _DemandWalk(steps, OrderHints()), [0] * len(numbers)
    walk.reads_on = tuple(on and n not in known for n, on in enumerate(steps.reads_on))
    for number in (known[stage] for stage in order):
        if number is not None:
            asked[number] += 1
            walk.demand(number, min(asked[number], steps.counts[number]))
    for number, count in enumerate(steps.counts):
        walk.demand(number, count)
    return walk.order


def _names(stages: Sequence[Stage]) -> list[tuple[str, int]]:
    """Returns the stages' names, numbered if several are equal, such as copies of one value."""
    before: Counter[str] = Counter()
    found = []
    for stage in stages:
        found.append((stage.name, before[stage.name]))
        before[stage.name] += 1
    return found


def _goals(steps: Steps) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns the stages whose rows are outputs or have no reader, with their steps."""
    counts, asked, wanted = steps.counts, steps.asked, steps.wanted
    last = [(s, n) for s, n in enumerate(counts) if n and asked[s] < max(wanted[s], 1)]
    return last, [(s, n) for s, n in enumerate(counts) if n > wanted[s]]


def _in_step(goals: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    steps = [((n + 1) / count, stage, n + 1) for stage, count in goals for n in range(count)]
    return ((stage, count) for _, stage, count in sorted(steps))


class _DemandWalk:
    def __init__(self, steps: Steps, hints: OrderHints) -> None:
        self.order: list[int] = []
        self.tails: list[int] = []
        self.taken = [0] * len(steps.counts)
        self.counts, self.wanted, self.reads_on = steps.counts, steps.wanted, steps.reads_on
        self.waits = [_flip(waits) if n in hints.flipped else waits for n, waits in enumerate(steps.waits)]
        self.next_waiting = steps.next_waiting
        self.followers = _followers(steps, hints.eager)
        # Whether a step of the stage may make other steps due.
        self.draws = [bool(f) or on for f, on in zip(self.followers, steps.reads_on, strict=True)]

    def demand(self, stage: int, count: int) -> None:
        """Runs steps until `count` steps of the stage are done. A hot path: few calls inside."""
        order, taken, waits, next_waiting = self.order, self.taken, self.waits, self.next_waiting
        stack = [(stage, count, False)]
        while stack:
            stage, count, only_if_ready = stack[-1]
            done = taken[stage]
            if done >= count:
                stack.pop()
                continue
            # Steps that wait for nothing can be as late as the next one that waits.
            step = next_waiting[stage][done]
            waiting = waits[stage][step if step < count else done]
            for other, least in waiting:
                if taken[other] < least:
                    missing = other, least, False
                    break
            else:
                missing = None
            if only_if_ready and (missing is not None or not waiting):
                stack.pop()
            elif missing is not None:
                stack.append(missing)
            elif self.tails or self.draws[stage]:
                self._take_step(stage, stack)
            else:
                order.append(stage)
                taken[stage] = done + 1

    def _take_step(self, stage: int, stack: list[tuple[int, int, bool]]) -> None:
        """Runs one step, then its followers' steps; stages with unneeded steps left become tails.

        Tails would keep the rows they read live, but they run after the reader of the last wanted row.
        """
        self.order.append(stage)
        self.taken[stage] += 1
        due, self.tails = self.tails, []
        if self.reads_on[stage] and self.taken[stage] == self.wanted[stage]:
            self.tails.append(stage)
        stack.extend((tail, self.counts[tail], False) for tail in due)
        stack.extend((follower, self.counts[follower], True) for follower in self.followers[stage])


def _flip(waits: tuple[tuple[Wait, ...], ...]) -> tuple[tuple[Wait, ...], ...]:
    return tuple(step[::-1] for step in waits)


def _followers(steps: Steps, eager: frozenset[int]) -> list[list[int]]:
    followers: list[list[int]] = [[] for _ in steps.counts]
    for stage in sorted(eager):
        for other in sorted({other for waits in steps.waits[stage] for other, _ in waits}):
            followers[other].append(stage)
    return followers


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


# Moves device starts earlier and waits later, so that devices overlap with the core.
#
# A device starts once its inputs exist, but not before the last step of the previous device stage: one
# transfer arrives while the previous data is used, so at most two transfers hold memory.


def starting_stages(steps: Steps, order: Sequence[int]) -> list[int]:
    """Returns the stages that start a device, in order."""
    starting = {number for number, stage in enumerate(steps.request.stages) if stage.starts}
    return [stage for stage in dict.fromkeys(order) if stage in starting]


def started_early(steps: Steps, order: Sequence[int], stage: int) -> tuple[int, ...]:
    """Returns the order with that stage's start as early as possible, after the steps that it depends on."""
    place = order.index(stage)
    early = max(_ready(steps, order, stage), _end_of_the_one_before(steps, order, stage))
    return (
        (*order[:early], stage, *order[early:place], *order[place + 1 :]) if early < place else tuple(order)
    )


def waited_late(steps: Steps, order: Sequence[int], stage: int) -> tuple[int, ...]:
    """Returns the order with that stage's wait after the steps that do not need its result."""
    wait = _last(order, stage)
    taken, before, behind, left = Counter(order[:wait]), list[int](), list[int](), {stage}
    for other in order[wait + 1 :]:
        done = taken[other]
        is_start = steps.request.stages[other].starts and not done
        is_ready = all(taken[name] >= count for name, count in steps.waits[other][done])
        if other in left or is_start or not is_ready:
            behind.append(other)
            left.add(other)
        else:
            before.append(other)
            taken[other] += 1
    return (*order[:wait], *before, stage, *behind)


def _last(order: Sequence[int], stage: int) -> int:
    return len(order) - 1 - order[::-1].index(stage)


def _ready(steps: Steps, order: Sequence[int], stage: int) -> int:
    """Returns the first position at which everything that the first step needs is done."""
    left = dict(steps.waits[stage][0])
    taken: Counter[int] = Counter()
    for position, other in enumerate(order):
        if all(taken[name] >= count for name, count in left.items()):
            return position
        taken[other] += 1
    return len(order)


def _end_of_the_one_before(steps: Steps, order: Sequence[int], stage: int) -> int:
    """Returns the position of the last step of the previous device stage; 0 for the first."""
    starting = starting_stages(steps, order)
    place = starting.index(stage)
    if not place:
        return 0
    return _last(order, starting[place - 1])
