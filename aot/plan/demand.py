"""Orders steps by demand: each runs just before another needs its rows.

Hints change that order. A *cut* stage finishes all its rows before later stages run, which helps if it
shrinks a dying input. An *eager* stage runs as soon as its inputs exist, which helps if a tensor has several
readers and this one frees more than it writes. A *flipped* stage demands its inputs in reverse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aot.plan.model import Stage
from aot.plan.steps import Steps, Wait

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
