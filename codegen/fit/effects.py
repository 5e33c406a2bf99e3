"""Predicts the effects of single changes on a plan, and the best combinations within a budget.

Around a plan, each change of one layer is lowered and evaluated in the plan's order: live bytes at each
stage, and cycles. Effects are added up. That is an approximation, because readers that disagree add copies,
and other orders need less. It is good enough to choose the states that are worth a real plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.plan.steps import Ints

MOST_MOVES = 160  # evaluated in pairs
_MOST_TURNS = 80


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """One change, and its effect on cycles, flash, and the bytes live at each stage."""

    layer: int
    way: int
    cycles: int
    flash_bytes: int
    live: Mapping[str, int]  # by stage: bytes of the rings in use while it runs, with the change
    floor: int  # of the arena, with this change alone, in the same order


@dataclass(frozen=True)
class Effects:
    """All single changes around one state."""

    live: Mapping[str, int]  # by stage, without a change
    slack: int  # the arena minus the live bytes at the peak
    changes: tuple[Effect, ...]

    def arena_bytes(self, changes: Sequence[Effect]) -> int:
        """Returns the predicted arena of a plan with these changes."""
        if len(changes) == 1:
            return changes[0].floor
        live = dict(self.live)
        for each in changes:
            for name in {*self.live, *each.live}:
                live[name] = live.get(name, 0) + each.live.get(name, 0) - self.live.get(name, 0)
        return max(live.values(), default=0) + self.slack

    def within(self, arena_bytes: int, flash_bytes: int) -> tuple[Effect, ...]:
        """Returns the changes that save most cycles within these budgets, at most one for each layer.

        `flash_bytes` limits the growth of flash. The search changes one or two layers at a time.
        """
        return _Sum(self, arena_bytes - self.slack, flash_bytes).best()


class _Sum:
    """A set of changes that is improved step by step."""

    def __init__(self, effects: Effects, live_bytes: int, flash_bytes: int) -> None:
        by_worth = sorted(effects.changes, key=lambda e: (e.cycles, e.layer, e.way))
        self.changes = by_worth[: MOST_MOVES // 2] + by_worth[MOST_MOVES // 2 :][-MOST_MOVES // 2 :]
        stages = sorted({*effects.live, *(name for e in self.changes for name in e.live)})
        base = np.array([effects.live.get(name, 0) for name in stages], np.float64)
        self.live = np.array([[e.live.get(name, 0) for name in stages] for e in self.changes]) - base
        self.cycles = np.array([e.cycles for e in self.changes], np.float64)
        self.flash = np.array([e.flash_bytes for e in self.changes], np.float64)
        self.layers = np.array([e.layer for e in self.changes])
        self.room, self.flash_room = live_bytes - base, float(flash_bytes)
        self.taken: dict[int, int] = {}  # layer -> its change

    def best(self) -> tuple[Effect, ...]:
        if not len(self.changes):
            return ()
        for _ in range(_MOST_TURNS):
            if not self._improve():
                break
        return tuple(self.changes[n] for n in sorted(self.taken.values()))

    def _improve(self) -> bool:
        """Applies the best change of one or two layers; returns False if none improves the sum."""
        without = np.array([self.taken.get(layer, -1) for layer in self.layers.tolist()])
        is_taken = without == np.arange(len(without))
        held = without >= 0
        live, cycles, flash = self.live.copy(), self.cycles.copy(), self.flash.copy()
        live[held] -= self.live[without[held]]
        cycles[held] -= self.cycles[without[held]]
        flash[held] -= self.flash[without[held]]
        live[is_taken], cycles[is_taken], flash[is_taken] = (
            -self.live[is_taken],
            -self.cycles[is_taken],
            -self.flash[is_taken],
        )  # applying an applied change reverts it
        now = list(self.taken.values())
        left = self.room - self.live[now].sum(axis=0)
        flash_left = self.flash_room - self.flash[now].sum()
        before = _over(-left, -flash_left), 0.0
        over_by_one = np.maximum(np.maximum(live - left, 0).max(axis=1), np.maximum(flash - flash_left, 0))
        live_over_by_two = live[:, None, :] + live[None, :, :] - left
        over_by_two = np.maximum(
            np.maximum(live_over_by_two, 0).max(axis=2),
            np.maximum(flash[:, None] + flash[None, :] - flash_left, 0),
        )
        over_by_two[self.layers[:, None] == self.layers[None, :]] = np.inf
        np.fill_diagonal(over_by_two, over_by_one)
        saved = cycles[:, None] + cycles[None, :]
        np.fill_diagonal(saved, cycles)
        nearest = np.lexsort((saved.ravel(), over_by_two.ravel()))
        best = int(nearest[0])
        if (over_by_two.ravel()[best], saved.ravel()[best]) >= before:
            return False
        for number in {best // len(cycles), best % len(cycles)}:
            layer = int(self.layers[number])
            if self.taken.get(layer) == number:
                del self.taken[layer]
            else:
                self.taken[layer] = number
        return True


def _over(live: Ints, flash: float) -> float:
    return max(0.0, float(live.max(initial=0)), flash)
