"""A search guided by trees that predict costs from curves.

It beats ranking after 24 trials; later they are equal.

`python -m benchmarks tuner-models` prints the difference.
"""

from __future__ import annotations

from codegen.kernels.knobs import Space
from platforms.tuning.loop_features import curves
from platforms.tuning.tuners.model import ModelLed, regressed, require_trees
from platforms.tuning.tuners.tuner import Tuner


def make(space: Space, seed: int) -> Tuner:
    require_trees("regression")
    return ModelLed(space, seed, curves, regressed)
