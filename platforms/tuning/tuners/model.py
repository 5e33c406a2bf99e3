"""A search led by boosted trees: they rank all open points by what was measured, the best go next.

LightGBM, because it is the small kept library that boosts trees for a ranking loss (LambdaRank): which of two
points is faster is all that matters, and a ranking learns it from fewer trials than the costs themselves.
scikit-learn's histogram trees have no ranking loss; XGBoost has one and is a download ten times as large.
Trees need no scaling of the knobs, rank ten thousand points in well under a second and train in milliseconds.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from aot.errors import MissingToolError
from aot.ir.types import Array
from codegen.kernels.knobs import Space
from platforms.tuning.loop_features import features
from platforms.tuning.tuners.tuner import Key, Tuner

_FIRST = 12  # points by chance before there is something to learn from
_BATCH = 8  # points that one ranking gives
_EXPLORES = 0.1  # of the points are taken by chance
_MOST_RANKED = 10_000
_GRADES = 16  # classes of speed that the ranking loss tells apart
_ROUNDS = 60
_TREES = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "min_data_in_leaf": 2,
    "learning_rate": 0.15,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
}


class ModelLed(Tuner):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._rows = features(space, list(self.points.values()))
        self._row_of = {key: number for number, key in enumerate(self.points)}
        self._ranked: list[Key] = []

    def choose(self) -> Key:
        good = sum(cost is not None for cost in self.costs.values())
        if good < _FIRST or self.rng.random() < _EXPLORES:
            return self.any_open()
        if not any(self.is_open(key) for key in self._ranked):
            self._ranked = self._rank()[:_BATCH]
        return next((key for key in self._ranked if self.is_open(key)), self.any_open())

    def _rank(self) -> list[Key]:
        """Sorts open points, the most promising first."""
        pool = self.open_points()
        if len(pool) > _MOST_RANKED:
            pool = self.rng.sample(pool, _MOST_RANKED)
        model = fitted(self._table(list(self.costs)), [self.costs[key] for key in self.costs])
        scores = model.predict(self._table(pool))
        return [pool[i] for i in np.argsort(-scores, kind="stable")]

    def _table(self, keys: list[Key]) -> Array:
        return self._rows[[self._row_of[key] for key in keys]]


def fitted(rows: Array, costs: list[float | None]) -> Any:
    """Fits trees that give faster points higher scores; a point that failed is slower than all others."""
    import lightgbm  # an extra, and slow to import

    slowest = max(cost for cost in costs if cost is not None)
    numbers = np.asarray([2 * slowest if cost is None else cost for cost in costs])
    places = numbers.argsort(kind="stable").argsort(kind="stable")
    grades = (_GRADES - 1) - places * _GRADES // len(numbers)
    data = lightgbm.Dataset(rows, grades, group=[len(numbers)], params={"verbose": -1, "min_data_in_bin": 1})
    settings = {**_TREES, "label_gain": list(range(_GRADES))}
    return lightgbm.train(settings, data, num_boost_round=_ROUNDS)


def make(space: Space, seed: int) -> Tuner:
    if find_spec("lightgbm") is None:
        raise MissingToolError(
            'tuner "model" needs the Python package lightgbm',
            hint="pip install 'solder[tune]', or another tuner: ga",
        )
    return ModelLed(space, seed)
