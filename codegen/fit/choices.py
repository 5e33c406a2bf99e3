"""The choices of each layer: the ways to compute it that differ in cycles, rows, scratch or flash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from aot.ir.graph import Graph
from aot.records import dataclass
from codegen.fit.layer_cycles import CycleTable, cycle_key
from codegen.fit.variant import Variant
from codegen.kernels.schedule import RowRequests
from codegen.lower.decisions import Decisions, all_layers

Way = frozenset[str]  # the sets of Decisions that a layer is in
State = tuple[int, ...]  # of each layer that has a choice: the number of its way

FASTEST: Way = frozenset({"widened"})
COMPACT: Way = frozenset({"widened", "compact"})
LEAST: Way = frozenset({"frugal", "unpadded"})
_PADDED = (
    FASTEST,
    COMPACT,
    frozenset({"widened", "frugal"}),
    frozenset({"frugal"}),
    frozenset[str](),
)
_EDGES: tuple[Way, ...] = (frozenset(), frozenset({"unpadded"}))
WAYS: tuple[Way, ...] = tuple(way | edges for way in _PADDED for edges in _EDGES)
_FIELDS = ("widened", "unpadded", "compact", "frugal")


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a layer takes where all layers go the same way."""

    key: str
    requests: RowRequests
    steps: int
    cycles: int
    scratch_bytes: int
    extra_bytes: int

    def is_no_worse(self, other: _Cost) -> bool:
        is_alike = (self.requests, self.steps) == (other.requests, other.steps)
        figures = zip(self.figures, other.figures, strict=True)
        return is_alike and all(mine <= its for mine, its in figures)

    @property
    def figures(self) -> tuple[int, int, int]:
        return self.cycles, self.scratch_bytes, self.extra_bytes


@dataclass(frozen=True)
class Choices:
    """The layers of a graph that have a choice, and the ways of each."""

    graph: Graph
    ways: Mapping[str, tuple[Way, ...]]
    extra_bytes: Mapping[str, int]  # of weights that are transformed if a layer goes the fastest way

    def decided(self, state: State, start: Decisions) -> Decisions:
        """The decisions of a state; layers without a choice go the fastest way."""
        chosen = dict.fromkeys((node.name for node in self.graph.nodes), FASTEST)
        chosen |= {layer: ways[n] for (layer, ways), n in zip(self.ways.items(), state, strict=True)}
        sets: dict[str, Any] = {
            name: frozenset(layer for layer, way in chosen.items() if name in way) for name in _FIELDS
        }
        return replace(start, is_roomy=False, **sets)

    def state_like(self, wanted: Way) -> State:
        """The state in which each layer goes that way, or the one that stands for it."""
        return tuple(_nearest(ways, wanted) for ways in self.ways.values())

    def changes(self, state: State) -> Iterator[tuple[int, int]]:
        """Yields every single change: the position of a layer, and another way of it."""
        for at, ways in enumerate(self.ways.values()):
            yield from ((at, way) for way in range(len(ways)) if way != state[at])


def _nearest(ways: tuple[Way, ...], wanted: Way) -> int:
    """The first of the ways that differ least."""
    return min(range(len(ways)), key=lambda n: (len(ways[n] ^ wanted), n))


def uniform(variant: Variant, way: Way) -> Variant:
    """The variant in which all layers go one way."""
    every, none = all_layers(variant.graph), frozenset[str]()
    return variant.decided(is_roomy=False, **{name: every if name in way else none for name in _FIELDS})


def choices_of(variant: Variant, table: CycleTable) -> Choices:
    """Lowers the graph once for each way, and keeps of each layer those that differ and are no worse."""
    found: dict[str, dict[Way, _Cost]] = {}
    for way in WAYS:
        for layer, cost in _costs(uniform(variant, way), table):
            if not any(known.is_no_worse(cost) for known in found.setdefault(layer, {}).values()):
                found[layer][way] = cost
    kept = {layer: _not_worse(costs) for layer, costs in found.items()}
    ways = {layer: its for layer, its in kept.items() if len(its) > 1}
    extra = {layer: found[layer][FASTEST].extra_bytes if FASTEST in found[layer] else 0 for layer in ways}
    return Choices(variant.graph, ways, extra)


def _not_worse(costs: Mapping[Way, _Cost]) -> tuple[Way, ...]:
    return tuple(
        way
        for way, cost in costs.items()
        if not any(other is not cost and other.is_no_worse(cost) for other in costs.values())
    )


def _costs(variant: Variant, table: CycleTable) -> Iterator[tuple[str, _Cost]]:
    lowered = variant.lowered
    names = all_layers(variant.graph)
    for stage in lowered.stages:
        if stage.node is not None and stage.node.name in names:
            yield (
                stage.node.name,
                _Cost(
                    cycle_key(stage, lowered.tensors),
                    stage.requests,
                    stage.steps,
                    table.of(stage, lowered.tensors).cycles,
                    stage.kernel.scratch_bytes,
                    stage.kernel.extra_bytes,
                ),
            )
