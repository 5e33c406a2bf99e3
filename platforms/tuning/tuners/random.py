"""A random search without repetition: the baseline for the other tuners."""

from __future__ import annotations

from codegen.kernels.knobs import Space
from platforms.tuning.tuners.tuner import Key, Tuner


class Random(Tuner):
    def choose(self) -> Key:
        return self.any_open()


def make(space: Space, seed: int) -> Tuner:
    return Random(space, seed)
