"""Ops with a graph, and that of a region: nodes that run together on another device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array, TensorType
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required


class Subgraph(Op):
    """An op that its graph computes."""

    graph: Graph

    @property
    def graph_cost(self) -> Cost:
        """Returns the cost of a run of the graph."""
        each = [n.op.cost(self.graph.input_types(n), self.graph.output_types(n)) for n in self.graph.nodes]
        return Cost(sum(cost.macs for cost in each), sum(cost.elementwise for cost in each))


def _border(op: DeviceRegion, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    """Describes the first input or output whose type differs from the region's graph; None if all agree."""
    inside = [op.graph.types[name] for name in (*op.graph.inputs, *op.graph.outputs)]
    outside = [*inputs, *outputs]
    if len(inside) != len(outside):
        return f"{len(outside)} values cross the border, the region's graph has {len(inside)}"
    wrong = next((n for n, pair in enumerate(zip(outside, inside, strict=True)) if pair[0] != pair[1]), None)
    return None if wrong is None else f"value {wrong} at the border has another type inside"


@dataclass(frozen=True, eq=False)
class DeviceRegion(Subgraph):
    """A subgraph that a device runs. Inputs and outputs are those of its graph, in order.

    Compares by identity. It computes the same as its nodes, so every device must match them bit for bit.
    """

    device: str  # the device that claimed the nodes
    graph: Graph

    name: ClassVar[str] = "region"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        Constraint("values that cross the border must have the same type on both sides", _border),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        found = (self.graph.types[name] for name in self.graph.outputs)
        return tuple((tensor.dtype.value, tensor.shape) for tensor in found)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        given = {name: required(array) for name, array in zip(self.graph.inputs, arrays, strict=True)}
        made = run_graph(self.graph, given)
        return tuple(made[name] for name in self.graph.outputs)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return self.graph_cost


def subgraphs_of(graph: Graph) -> Iterator[Subgraph]:
    """Yields the ops that have a graph, in graph order."""
    return (node.op for node in graph.nodes if isinstance(node.op, Subgraph))
