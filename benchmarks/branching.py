"""Branching graphs by the dozen, as the planner sees them: random cells, U-Nets and Inception blocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aot.plan.model import Kind, PlanRequest, PlanTensor, Rows, Stage, Step

_WHOLE = Rows(0, 1)


@dataclass
class _Graph:
    """Stages of one step, tensors of one row: what an order of whole stages is about."""

    tensors: list[PlanTensor] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    def tensor(self, size: int, kind: Kind) -> str:
        name = f"t{len(self.tensors)}"
        self.tensors.append(PlanTensor(name, 1, size, kind))
        return name

    def layer(self, sources: tuple[str, ...], size: int, kind: Kind = Kind.INNER) -> str:
        made = self.tensor(size, kind)
        sources = tuple(dict.fromkeys(sources))
        step = Step((_WHOLE,) * len(sources), (_WHOLE,))
        self.stages.append(Stage(made, sources, (made,), (step,)))
        return made

    def request(self) -> PlanRequest:
        return PlanRequest(tuple(self.tensors), tuple(self.stages), rows=False)


def random_cell(chance: random.Random) -> PlanRequest:
    """As architecture searches make them: each node adds two earlier ones, the unread are concatenated."""
    graph = _Graph()
    nodes = [graph.tensor(4 * chance.randint(4, 64), Kind.INPUT)]
    for _ in range(chance.randint(5, 9)):
        branches = tuple(
            graph.layer((chance.choice(nodes),), 4 * chance.randint(1, 64))
            for _ in range(chance.randint(1, 2))
        )
        nodes.append(graph.layer(branches, 4 * chance.randint(1, 64)))
    read = {name for stage in graph.stages for name in stage.reads}
    graph.layer(tuple(n for n in nodes if n not in read), 64, Kind.OUTPUT)
    return graph.request()


def u_net(chance: random.Random) -> PlanRequest:
    """Halves to the bottom, doubles to the top, each level joined with what it had on the way down."""
    graph = _Graph()
    depth, size = chance.randint(2, 4), 4 * chance.randint(128, 256)
    x = graph.tensor(size, Kind.INPUT)
    kept = []
    for level in range(depth):
        x = graph.layer((x,), size >> level)
        kept.append(graph.layer((x,), (size >> level) * chance.randint(1, 2)))
        x = graph.layer((kept[-1],), size >> (level + 1))
    for level in reversed(range(depth)):
        x = graph.layer((graph.layer((x,), size >> level), kept[level]), size >> level)
    graph.layer((x,), 32, Kind.OUTPUT)
    return graph.request()


def inception(chance: random.Random) -> PlanRequest:
    """Blocks of parallel branches of different lengths, concatenated."""
    graph = _Graph()
    x = graph.tensor(4 * chance.randint(32, 128), Kind.INPUT)
    for _ in range(chance.randint(1, 3)):
        ends = []
        for _ in range(chance.randint(2, 4)):
            end = x
            for _ in range(chance.randint(1, 3)):
                end = graph.layer((end,), 4 * chance.randint(4, 96))
            ends.append(end)
        x = graph.layer(tuple(ends), 4 * chance.randint(32, 128))
    graph.layer((x,), 16, Kind.OUTPUT)
    return graph.request()


FAMILIES: Mapping[str, Callable[[random.Random], PlanRequest]] = {
    "random cells": random_cell,
    "U-Nets": u_net,
    "Inception blocks": inception,
}
