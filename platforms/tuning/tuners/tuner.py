"""The interface of tuners: one proposes points of a space, learns their costs, and repeats no point."""

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
    """Searches one space; costs are of any unit, and a point that failed has none."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.rng = random.Random(seed)
        self.points: dict[Key, Point] = {key_of(point): point for point in space.points}
        self._first: list[Key] = []  # what earlier records recommend
        self.costs: dict[Key, float | None] = {}
        self._open: list[Key] = list(self.points)  # in an order of its own: see _draw
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
        """Proposes up to `count` points that were not proposed before; none when the space is exhausted."""
        proposed: list[Point] = []
        while len(proposed) < count and self._open:
            key = self._next()
            self._close(key)
            proposed.append(self.points[key])
        return proposed

    def learn(self, results: Iterable[tuple[Point, float | None]]) -> None:
        """Takes the measured costs of points, from this run or an earlier one."""
        for point, cost in results:
            key = key_of(point)
            if key in self.points:
                self.costs[key] = cost
                self._close(key)

    def warm_up(self, prior: Sequence[tuple[Mapping[str, int], float]]) -> None:
        """Takes points of other shapes or boards, with costs relative to their default: the best go first."""
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
        """Finds a point that differs in one knob, by a step or a leap; else the point itself."""
        point = dict(key)
        knobs = [knob for knob in self.space.knobs if len(knob.values) > 1]
        for _ in range(4 * len(knobs)):
            knob = self.rng.choice(knobs)
            changed = key_of({**point, knob.name: self.rng.choice(knob.values)})
            if changed != key and changed in self.points:
                return changed
        return key

    def _close(self, key: Key) -> None:
        """Removes a point from the open ones in constant time: the last takes its place."""
        place = self._place.pop(key, None)
        if place is None:
            return
        last = self._open.pop()
        if last != key:
            self._open[place] = last
            self._place[last] = place


def default_tuner() -> str:
    """The tuner that needs the fewest trials among those that this machine can run."""
    return "model" if find_spec("lightgbm") else "ga"


def make_tuner(name: str, space: Space, seed: int) -> Tuner:
    tuner: Tuner = import_module(TUNERS[name]).make(space, seed)
    return tuner
