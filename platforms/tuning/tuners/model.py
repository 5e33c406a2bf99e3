"""A search guided by boosted trees, which rank all open points by past measurements.

LightGBM is the small, maintained library that boosts trees with a ranking loss (LambdaRank): only the order
of points matters. `python -m benchmarks tuner-models` compares it with a regression. scikit-learn's histogram
trees have no ranking loss; XGBoost has one, but its download is ten times as large. Trees need no scaling of
the knobs, rank ten thousand points in well under a second and train in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from aot.distribution import pip_install
from aot.errors import MissingToolError
from aot.ir.types import Array
from codegen.kernels.knobs import Point, Space
from platforms.tuning.loop_features import features
from platforms.tuning.tuners.tuner import Key, Tuner

_FIRST = 12  # random points before the first training
_BATCH = 8  # points used from one ranking
_EXPLORES = 0.1  # fraction of random points
_MOST_RANKED = 10_000
_GRADES = 16  # speed classes of the ranking loss
_ROUNDS = 60
_TREES = {
    "num_leaves": 15,
    "min_data_in_leaf": 2,
    "learning_rate": 0.15,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
}


Table = Callable[[Space, Sequence[Point]], Array]  # returns one row of numbers per point
Fit = Callable[[Array, Array], Any]  # rows and their costs -> trees that score faster points higher


class ModelLed(Tuner):
    def __init__(self, space: Space, seed: int, table: Table, fit: Fit) -> None:
        super().__init__(space, seed)
        self._fit = fit
        self._rows = table(space, list(self.points.values()))
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
        """Returns open points, the most promising first."""
        pool = self.open_points()
        if len(pool) > _MOST_RANKED:
            pool = self.rng.sample(pool, _MOST_RANKED)
        model = self._fit(self._table(list(self.costs)), _numbers(list(self.costs.values())))
        scores = model.predict(self._table(pool))
        return [pool[i] for i in np.argsort(-scores, kind="stable")]

    def _table(self, keys: list[Key]) -> Array:
        return self._rows[[self._row_of[key] for key in keys]]


def _numbers(costs: Sequence[float | None]) -> Array:
    """Returns the costs; failed points count as twice the slowest."""
    slowest = max(cost for cost in costs if cost is not None)
    return np.asarray([2 * slowest if cost is None else cost for cost in costs])


def ranked(rows: Array, costs: Array) -> Any:
    """Fits trees that rank faster points higher."""
    places = costs.argsort(kind="stable").argsort(kind="stable")
    grades = (_GRADES - 1) - places * _GRADES // len(costs)
    settings = {"objective": "lambdarank", "label_gain": list(range(_GRADES))}
    return _trees(rows, grades, settings, group=[len(costs)])


def regressed(rows: Array, costs: Array) -> Any:
    """Fits trees that predict the negative logarithm of the cost."""
    return _trees(rows, -np.log(costs), {"objective": "regression"})


def _trees(rows: Array, goals: Array, settings: dict[str, Any], group: list[int] | None = None) -> Any:
    import lightgbm  # an extra, and slow to import

    data = lightgbm.Dataset(rows, goals, group=group, params={"verbose": -1, "min_data_in_bin": 1})
    return lightgbm.train({**_TREES, **settings}, data, num_boost_round=_ROUNDS)


def make(space: Space, seed: int) -> Tuner:
    require_trees("model")
    return ModelLed(space, seed, features, ranked)


def require_trees(tuner: str) -> None:
    """Raises MissingToolError if the trees' package is not installed."""
    if find_spec("lightgbm") is None:
        raise MissingToolError(
            f'tuner "{tuner}" needs the Python package lightgbm',
            hint=f"{pip_install('tune')}, or use --tuner ga",
        )
