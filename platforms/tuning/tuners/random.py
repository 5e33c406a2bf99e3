"""A random search, which takes each point once: the other tuners must beat it."""

from __future__ import annotations

from codegen.kernels.knobs import Space
from platforms.tuning.tuners.tuner import Key, Tuner


class Random(Tuner):
    def choose(self) -> Key:
        return self.any_open()


def make(space: Space, seed: int) -> Tuner:
    return Random(space, seed)
