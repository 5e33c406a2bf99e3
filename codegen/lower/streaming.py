"""Finds the input that can be streamed row by row."""

from __future__ import annotations

from aot.errors import ModelError
from aot.ir.graph import Graph
from aot.ops.reshape import Reshape
from codegen.formats import geometry


def can_be_streamed(graph: Graph) -> bool:
    """Returns whether the only input is an image that layers read row by row."""
    if len(graph.inputs) != 1 or graph.inputs[0] in graph.outputs:
        return False
    is_seen = any(node.op.name == Reshape.name for node in graph.readers[graph.inputs[0]])
    return not is_seen and geometry(graph.types[graph.inputs[0]]).rows > 1


def streamed_input(graph: Graph) -> str:
    """Returns the one input whose rows can be pushed. Raises ModelError if the graph does not allow it."""
    if len(graph.inputs) != 1:
        raise ModelError(
            f"a model with {len(graph.inputs)} inputs cannot be streamed",
            "inputs: " + ", ".join(graph.inputs),
            "omit --stream to pass all inputs at once",
        )
    (value,) = graph.inputs
    if not can_be_streamed(graph):
        views = [node.name for node in graph.readers[value] if node.op.name == Reshape.name]
        shape = ", ".join(str(d) for d in graph.types[value].shape)
        raise ModelError(
            "the input cannot be streamed: it must be an image [1, rows, columns, channels] that layers read "
            "row by row",
            f'input "{value}" has shape [{shape}]' + (f", read by reshape {views[0]}" if views else ""),
            "omit --stream to pass the input at once",
        )
    return value
