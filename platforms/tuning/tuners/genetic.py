"""A genetic search: parents are the best fifty points; a child combines knobs of two, with mutations."""

from __future__ import annotations

from codegen.kernels.knobs import Space
from platforms.tuning.tuners.tuner import Key, Tuner, key_of

POPULATION = 50
_STRANGERS = 8  # initial random points; children are better even with few parents
_RIVALS = 3  # tournament size: the best of these becomes a parent
_MUTATES = 0.3
_TRIES = 20  # to find a child that is not measured yet


class Genetic(Tuner):
    def choose(self) -> Key:
        parents = self._parents()
        if len(parents) < _STRANGERS:
            return self.any_open()
        for _ in range(_TRIES):
            child = self._child(parents)
            if self.is_open(child):
                return child
        return self.any_open()

    def _parents(self) -> list[tuple[float, Key]]:
        return sorted((cost, key) for key, cost in self.costs.items() if cost is not None)[:POPULATION]

    def _child(self, parents: list[tuple[float, Key]]) -> Key:
        mother, father = (dict(self._winner(parents)) for _ in range(2))
        child = key_of({name: self.rng.choice((mother[name], father[name])) for name in mother})
        if child not in self.points or self.rng.random() < _MUTATES or not self.is_open(child):
            return self.neighbour(child if child in self.points else key_of(mother))
        return child

    def _winner(self, parents: list[tuple[float, Key]]) -> Key:
        return min(self.rng.choice(parents) for _ in range(_RIVALS))[1]


def make(space: Space, seed: int) -> Tuner:
    return Genetic(space, seed)
