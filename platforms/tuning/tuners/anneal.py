"""Simulated annealing: always accepts better points, and worse ones with decreasing probability."""

from __future__ import annotations

import math

from codegen.kernels.knobs import Space
from platforms.tuning.tuners.tuner import Key, Tuner, key_of

_WALKS = 8
_HOTTEST = 0.2  # relative cost increase that is accepted with probability 1/e
_COOLING = 0.9  # factor per step of a walk
_STEPS = 8  # maximum steps to an open point


class Anneal(Tuner):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._walks: list[Key] = [key_of(space.default)]
        self._from: dict[Key, int] = {}  # proposed point -> the walk that proposed it
        self._heat = [_HOTTEST] * _WALKS
        self._turn = 0

    def choose(self) -> Key:
        if len(self._walks) < _WALKS:
            self._walks.append(self.any_open())
            self._from[self._walks[-1]] = len(self._walks) - 1
            return self._walks[-1]
        self._turn = (self._turn + 1) % _WALKS
        self._settle(self._turn)
        step = self._walks[self._turn]
        for _ in range(_STEPS):
            step = self.neighbour(step)
            if self.is_open(step):
                self._from[step] = self._turn
                return step
        return self.any_open()

    def _settle(self, walk: int) -> None:
        """Accepts or rejects proposed steps that have been measured."""
        for key in [k for k, number in self._from.items() if number == walk and k in self.costs]:
            del self._from[key]
            if self._accepts(self.costs[key], self.costs.get(self._walks[walk]), self._heat[walk]):
                self._walks[walk] = key
            self._heat[walk] *= _COOLING

    def _accepts(self, new: float | None, old: float | None, heat: float) -> bool:
        if new is None:
            return False
        return old is None or new <= old or self.rng.random() < math.exp((1 - new / old) / heat)


def make(space: Space, seed: int) -> Tuner:
    return Anneal(space, seed)
