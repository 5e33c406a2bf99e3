"""The choices for each layer: ways to compute it that differ in cycles, rows, scratch or flash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aot.ir.graph import Graph
from codegen.fit.layer_cycles import CycleTable
from codegen.fit.variant import Variant
from codegen.formats import RowRequest, geometry, requested_format
from codegen.kernels.strategy import RowRequests
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
class WayCost:
    """A kernel that a layer may use, with its predicted costs."""

    strategy: str
    function: str  # the name of its proc
    why: str
    cycles: int
    is_measured: bool  # False: estimated from its loops
    scratch_bytes: int
    extra_bytes: int  # of transformed weights
    row_bytes: int  # of the input rows that a step reads
    state_bytes: int  # kept from step to step

    @property
    def figures(self) -> tuple[int, int, int]:
        return self.cycles, self.scratch_bytes, self.extra_bytes

    @property
    def local_bytes(self) -> int:
        """The bytes live in any plan while a step runs. Results may overlap."""
        return self.scratch_bytes + self.row_bytes + self.state_bytes


_Rows = tuple[RowRequests, int]  # the rows that a layer asks for, and its steps
_Costs = Mapping[Way, tuple[_Rows, WayCost]]


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
    found: dict[str, dict[Way, tuple[_Rows, WayCost]]] = {}
    figures: dict[str, tuple[tuple[int, int], ...]] = {}
    for way in WAYS:
        costs = {layer: (rows, cost) for layer, rows, cost in _costs(uniform(variant, way), table)}
        for name in all_layers(variant.graph):  # a layer that is computed by another one costs nothing itself
            _, cost = costs.get(name, (None, None))
            figure = (cost.local_bytes, cost.cycles) if cost is not None else (0, 0)
            figures[name] = (*figures.get(name, ()), figure)
        for layer, mine in costs.items():
            known = found.setdefault(layer, {})
            if not any(_is_no_worse(*its, *mine) for its in known.values()):
                known[way] = mine
    kept = {layer: _not_worse(costs) for layer, costs in found.items()}
    ways = {layer: its for layer, its in kept.items() if len(its) > 1}
    extra = {layer: found[layer][FASTEST][1].extra_bytes if FASTEST in found[layer] else 0 for layer in ways}
    return Choices(variant.graph, ways, extra, figures)


def ways_of_layer(variant: Variant, table: CycleTable, layer: str) -> tuple[WayCost, ...]:
    """Returns the different kernels of a layer among all ways, those with the fewest cycles first."""
    found = dict.fromkeys(
        cost for way in WAYS for name, _, cost in _costs(uniform(variant, way), table, layer) if name == layer
    )
    return tuple(sorted(found, key=lambda cost: cost.figures))


def _is_no_worse(rows: _Rows, cost: WayCost, other_rows: _Rows, other: WayCost) -> bool:
    figures = zip(cost.figures, other.figures, strict=True)
    return rows == other_rows and all(mine <= its for mine, its in figures)


def _not_worse(costs: _Costs) -> tuple[Way, ...]:
    return tuple(
        way
        for way, (rows, cost) in costs.items()
        if not any(
            other is not cost and _is_no_worse(other_rows, other, rows, cost)
            for other_rows, other in costs.values()
        )
    )


def _costs(variant: Variant, table: CycleTable, layer: str = "") -> Iterator[tuple[str, _Rows, WayCost]]:
    """Yields the costs of all layers, or of one, if all use the same way."""
    lowered = variant.lowered
    names = all_layers(variant.graph) if not layer else {layer}
    for stage in (each for each in lowered.stages if each.node is not None and each.node.name in names):
        kernel, cycles = stage.kernel, table.of(stage, lowered.tensors)
        cost = WayCost(
            kernel.strategy,
            kernel.proc.name,
            kernel.why,
            cycles.cycles,
            cycles.is_measured,
            kernel.scratch_bytes,
            kernel.extra_bytes,
            _row_bytes(stage, variant.placed.graph),
            kernel.state_bytes,
        )
        assert stage.node is not None
        yield stage.node.name, (stage.requests, stage.steps), cost


def _row_bytes(stage: LoweredStage, graph: Graph) -> int:
    """Returns the bytes of a step's input rows."""
    needed = 0
    for value, request, reading in zip(stage.values, stage.requests, stage.reads, strict=False):
        rows = min(reading.access.count, geometry(graph.types[value]).rows)
        own = RowRequest(dtype_bytes=graph.types[value].dtype.bytes)
        needed += rows * requested_format(graph.types[value], request or own).row_bytes
    return needed
