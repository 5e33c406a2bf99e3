"""A grid search: all points in the order of the knobs' values."""

from __future__ import annotations

from codegen.kernels.knobs import Space
from platforms.tuning.tuners.tuner import Key, Tuner


class Grid(Tuner):
    def choose(self) -> Key:
        return next(key for key in self.points if self.is_open(key))


def make(space: Space, seed: int) -> Tuner:
    return Grid(space, seed)
