"""Orders of firings by demand: nothing fires before somebody needs its rows.

A recipe bends the demand. A *cut* stage makes all its rows before the stages behind it are asked
for theirs: right where it shrinks what a dying input holds. An *eager* stage fires as soon as its
rows are there: right where a tensor has several readers and this one writes less than it frees.
A *flipped* stage asks for its inputs in reverse.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aot.plan.firings import Firings, Wait

NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Recipe:
    cuts: frozenset[int] = NONE
    eager: frozenset[int] = NONE
    flipped: frozenset[int] = NONE
    in_step: bool = False  # the last stages, if several, advance together


def order_by_demand(firings: Firings, recipe: Recipe) -> list[int]:
    """All firings, driven from the cuts and then from the last stages."""
    walk = _Walk(firings, recipe)
    last, rest = _goals(firings)
    for stage in sorted(recipe.cuts):
        walk.demand(stage, firings.counts[stage])
    for stage, count in (*(_in_step(last) if recipe.in_step else last), *rest):
        walk.demand(stage, count)
    return walk.order


def _goals(firings: Firings) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """With their firings: stages not only other stages want rows of; stages with rows nobody wants."""
    counts, asked, wanted = firings.counts, firings.asked, firings.wanted
    last = [(s, n) for s, n in enumerate(counts) if n and asked[s] < max(wanted[s], 1)]
    return last, [(s, n) for s, n in enumerate(counts) if n > wanted[s]]


def _in_step(goals: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    steps = [((n + 1) / count, stage, n + 1) for stage, count in goals for n in range(count)]
    return ((stage, count) for _, stage, count in sorted(steps))


class _Walk:
    def __init__(self, firings: Firings, recipe: Recipe) -> None:
        self.order: list[int] = []
        self.tails: list[int] = []
        self.fired = [0] * len(firings.counts)
        self.counts, self.wanted, self.reads_on = firings.counts, firings.wanted, firings.reads_on
        self.waits = [_flip(waits) if n in recipe.flipped else waits for n, waits in enumerate(firings.waits)]
        self.next_waiting = firings.next_waiting
        self.followers = _followers(firings, recipe.eager)

    def demand(self, stage: int, count: int) -> None:
        fired, stack = self.fired, [(stage, count, False)]
        while stack:
            stage, count, only_if_ready = stack[-1]
            if fired[stage] >= count or (only_if_ready and not self._is_ready(stage)):
                stack.pop()
                continue
            missing = self._missing(stage, self._next_waiting(stage, count))
            if missing is not None:
                stack.append((*missing, False))
                continue
            for tail in self._fire(stage):
                stack.append((tail, self.counts[tail], False))
            for follower in self.followers[stage]:
                stack.append((follower, self.counts[follower], True))

    def _fire(self, stage: int) -> list[int]:
        """Fires it, and says which stages now have only firings left that nobody will ask for.

        Those would keep the rows they read alive; but they come after the reader of the last wanted row.
        """
        self.order.append(stage)
        self.fired[stage] += 1
        due, self.tails = self.tails, []
        if self.reads_on[stage] and self.fired[stage] == self.wanted[stage]:
            self.tails.append(stage)
        return due

    def _next_waiting(self, stage: int, count: int) -> int:
        """The next firing that waits for anything: those before it can fire as late as it does."""
        firing = self.next_waiting[stage][self.fired[stage]]
        return firing if firing < count else self.fired[stage]

    def _missing(self, stage: int, firing: int) -> tuple[int, int] | None:
        fired = self.fired
        for wait in self.waits[stage][firing]:
            if fired[wait[0]] < wait[1]:
                return wait
        return None

    def _is_ready(self, stage: int) -> bool:
        """Whether an eager stage goes on: its rows are there, or it has waited for them before."""
        firing = self._next_waiting(stage, self.counts[stage])
        return bool(self.waits[stage][firing]) and self._missing(stage, firing) is None


def _flip(waits: tuple[tuple[Wait, ...], ...]) -> tuple[tuple[Wait, ...], ...]:
    return tuple(firing[::-1] for firing in waits)


def _followers(firings: Firings, eager: frozenset[int]) -> list[list[int]]:
    followers: list[list[int]] = [[] for _ in firings.counts]
    for stage in sorted(eager):
        for other in sorted({other for waits in firings.waits[stage] for other, _ in waits}):
            followers[other].append(stage)
    return followers
