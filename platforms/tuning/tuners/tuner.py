"""The interface of tuners, which propose points of a space, learn their costs, and repeat no point."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec

from codegen.kernels.knobs import Point, Space
from platforms.tuning.tuners import TUNERS

Key = tuple[tuple[str, int], ...]


def key_of(point: Point) -> Key:
    return tuple(sorted(point.items()))


class Tuner(ABC):
    """Searches one space. Costs may have any unit; failed points have None."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.rng = random.Random(seed)
        self.points: dict[Key, Point] = {key_of(point): point for point in space.points}
        self._first: list[Key] = []  # recommended by earlier records
        self.costs: dict[Key, float | None] = {}
        self._open: list[Key] = list(self.points)  # in arbitrary order, see _draw
        self._place: dict[Key, int] = {key: place for place, key in enumerate(self._open)}

    @property
    def is_done(self) -> bool:
        return not self._open

    @property
    def best(self) -> tuple[Point, float] | None:
        measured = [(cost, key) for key, cost in self.costs.items() if cost is not None]
        if not measured:
            return None
        cost, key = min(measured)
        return self.points[key], cost

    def propose(self, count: int) -> list[Point]:
        """Proposes up to `count` points that were not proposed before; [] if the space is exhausted."""
        proposed: list[Point] = []
        while len(proposed) < count and self._open:
            key = self._next()
            self._close(key)
            proposed.append(self.points[key])
        return proposed

    def learn(self, results: Iterable[tuple[Point, float | None]]) -> None:
        """Learns measured costs of points, from this run or an earlier one."""
        for point, cost in results:
            key = key_of(point)
            if key in self.points:
                self.costs[key] = cost
                self._close(key)

    def warm_up(self, prior: Sequence[tuple[Mapping[str, int], float]]) -> None:
        """Adds points of other shapes or boards with costs relative to their default.

        The best are tried first.
        """
        near = [key_of({**self.space.default, **point}) for point, _ in sorted(prior, key=lambda p: p[1])]
        self._first = list(dict.fromkeys(key for key in near if key in self._place))

    def _next(self) -> Key:
        while self._first:
            key, self._first = self._first[0], self._first[1:]
            if key in self._place:
                return key
        return self.choose()

    @abstractmethod
    def choose(self) -> Key:
        """Chooses an open point."""

    def is_open(self, key: Key) -> bool:
        return key in self._place

    def open_points(self) -> list[Key]:
        return list(self._open)

    def any_open(self) -> Key:
        return self.rng.choice(self._open)

    def neighbour(self, key: Key) -> Key:
        """Returns a point that differs in one knob, or the point itself if none is found."""
        point = dict(key)
        knobs = [knob for knob in self.space.knobs if len(knob.values) > 1]
        for _ in range(4 * len(knobs)):
            knob = self.rng.choice(knobs)
            changed = key_of({**point, knob.name: self.rng.choice(knob.values)})
            if changed != key and changed in self.points:
                return changed
        return key

    def _close(self, key: Key) -> None:
        """Removes an open point in constant time by moving the last one to its position."""
        place = self._place.pop(key, None)
        if place is None:
            return
        last = self._open.pop()
        if last != key:
            self._open[place] = last
            self._place[last] = place


def default_tuner() -> str:
    """Returns the available tuner that needs the fewest trials."""
    return "model" if find_spec("lightgbm") else "ga"


def make_tuner(name: str, space: Space, seed: int) -> Tuner:
    tuner: Tuner = import_module(TUNERS[name]).make(space, seed)
    return tuner
