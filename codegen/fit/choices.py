"""The choices for each layer: ways to compute it that differ in cycles, rows, scratch or flash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aot.ir.graph import Graph
from codegen.fit.layer_cycles import CycleTable, cycle_key
from codegen.fit.variant import Variant
from codegen.formats import RowRequest, geometry, requested_format
from codegen.kernels.schedule import RowRequests
from codegen.lower.decisions import Decisions, all_layers
from codegen.lower.stages import LoweredStage

Way = frozenset[str]  # the sets of Decisions that a layer is in
State = tuple[int, ...]  # for each layer with a choice, the number of its way

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
    """The costs of a layer if all layers use the same way."""

    key: str
    requests: RowRequests
    steps: int
    cycles: int
    scratch_bytes: int
    extra_bytes: int
    local_bytes: int  # live in any plan while a step runs

    def is_no_worse(self, other: _Cost) -> bool:
        is_alike = (self.requests, self.steps) == (other.requests, other.steps)
        figures = zip(self.figures, other.figures, strict=True)
        return is_alike and all(mine <= its for mine, its in figures)

    @property
    def figures(self) -> tuple[int, int, int]:
        return self.cycles, self.scratch_bytes, self.extra_bytes


@dataclass(frozen=True)
class Choices:
    """The layers of a graph that have a choice, and their ways."""

    graph: Graph
    ways: Mapping[str, tuple[Way, ...]]
    extra_bytes: Mapping[str, int]  # of transformed weights, if a layer uses its fastest way
    figures: Mapping[str, tuple[tuple[int, int], ...]]  # of each layer: the bytes that it needs, cycles

    def decided(self, state: State, start: Decisions) -> Decisions:
        """Returns the decisions of a state; layers without a choice use the fastest way."""
        chosen = dict.fromkeys((node.name for node in self.graph.nodes), FASTEST)
        chosen |= {layer: ways[n] for (layer, ways), n in zip(self.ways.items(), state, strict=True)}
        sets: dict[str, Any] = {
            name: frozenset(layer for layer, way in chosen.items() if name in way) for name in _FIELDS
        }
        return replace(start, is_roomy=False, **sets)

    def state_like(self, wanted: Way) -> State:
        """Returns the state in which each layer uses that way or its nearest substitute."""
        return tuple(_nearest(ways, wanted) for ways in self.ways.values())

    def bound_cycles(self, arena_bytes: int) -> int:
        """Returns a lower bound of cycles in that arena: each layer alone, in its fastest way that fits."""
        layers = self.figures.values()
        fitting = ([cycles for needed, cycles in ways if needed <= arena_bytes] for ways in layers)
        return sum(min(cycles, default=0) for cycles in fitting)

    @property
    def count(self) -> int:
        """The number of single changes of a state."""
        return sum(len(ways) - 1 for ways in self.ways.values())

    def changes(self, state: State) -> Iterator[tuple[int, int]]:
        """Yields every single change: the position of a layer, and another way for it."""
        for at, ways in enumerate(self.ways.values()):
            yield from ((at, way) for way in range(len(ways)) if way != state[at])


def _nearest(ways: tuple[Way, ...], wanted: Way) -> int:
    """Returns the first of the ways with the fewest differences."""
    return min(range(len(ways)), key=lambda n: (len(ways[n] ^ wanted), n))


def uniform(variant: Variant, way: Way) -> Variant:
    """Returns the variant in which all layers use one way."""
    every, none = all_layers(variant.graph), frozenset[str]()
    return variant.decided(is_roomy=False, **{name: every if name in way else none for name in _FIELDS})


def choices_of(variant: Variant, table: CycleTable) -> Choices:
    """Lowers the graph once for each way, and keeps each layer's different ways that are not worse."""
    found: dict[str, dict[Way, _Cost]] = {}
    figures: dict[str, tuple[tuple[int, int], ...]] = {}
    for way in WAYS:
        costs = dict(_costs(uniform(variant, way), table))
        for name in all_layers(variant.graph):  # a layer that is computed by another one costs nothing itself
            figure = (costs[name].local_bytes, costs[name].cycles) if name in costs else (0, 0)
            figures[name] = (*figures.get(name, ()), figure)
        for layer, cost in costs.items():
            if not any(known.is_no_worse(cost) for known in found.setdefault(layer, {}).values()):
                found[layer][way] = cost
    kept = {layer: _not_worse(costs) for layer, costs in found.items()}
    ways = {layer: its for layer, its in kept.items() if len(its) > 1}
    extra = {layer: found[layer][FASTEST].extra_bytes if FASTEST in found[layer] else 0 for layer in ways}
    return Choices(variant.graph, ways, extra, figures)


@dataclass(frozen=True, slots=True)
class WayCost:
    """A kernel that a layer may use, with its predicted costs."""

    schedule: str
    function: str  # the name of its proc
    why: str
    cycles: int
    is_measured: bool  # False: estimated from its loops
    scratch_bytes: int
    extra_bytes: int  # of transformed weights
    row_bytes: int  # of the input rows that a step reads


def ways_of_layer(variant: Variant, table: CycleTable, layer: str) -> tuple[WayCost, ...]:
    """Returns the different kernels of a layer among all ways, those with the fewest cycles first."""
    found: dict[WayCost, None] = {}
    for way in WAYS:
        tried = uniform(variant, way)
        lowered = tried.lowered
        for stage in lowered.stages:
            if stage.node is not None and stage.node.name == layer:
                cycles, kernel = table.of(stage, lowered.tensors), stage.kernel
                own_bytes = kernel.scratch_bytes + kernel.state_bytes
                cost = WayCost(
                    kernel.schedule,
                    kernel.proc.name,
                    kernel.why,
                    cycles.cycles,
                    cycles.is_measured,
                    kernel.scratch_bytes,
                    kernel.extra_bytes,
                    _local_bytes(stage, tried.placed.graph) - own_bytes,
                )
                found[cost] = None
    return tuple(sorted(found, key=lambda cost: (cost.cycles, cost.scratch_bytes, cost.extra_bytes)))


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
                    _local_bytes(stage, variant.placed.graph),
                ),
            )


def _local_bytes(stage: LoweredStage, graph: Graph) -> int:
    """Returns the bytes live in every plan: a step's input rows, and scratch. Results may overlap."""
    needed = stage.kernel.scratch_bytes + stage.kernel.state_bytes
    for value, request, reading in zip(stage.values, stage.requests, stage.reads, strict=False):
        rows = min(reading.access.count, geometry(graph.types[value]).rows)
        own = RowRequest(dtype_bytes=graph.types[value].dtype.bytes)
        needed += rows * requested_format(graph.types[value], request or own).row_bytes
    return needed
