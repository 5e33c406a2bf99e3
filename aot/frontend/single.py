"""Builds a model of one op without a file: its inputs are the model's, its constants are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, TensorType
from aot.ir.verify import verify
from aot.ops.op import Op


def graph_of_op(
    name: str,
    op: Op,
    operands: Mapping[str, TensorType],
    constants: Mapping[str, Array],
    output: tuple[str, TensorType],
) -> Graph:
    """Returns the graph; operands that are among the constants are constant."""
    result, kind = output
    inputs: Sequence[str] = tuple(each for each in operands if each not in constants)
    node = Node(name, op, tuple(operands), (result,))
    graph = Graph(name, tuple(inputs), (result,), (node,), {**operands, result: kind}, dict(constants))
    verify(graph)
    return graph
