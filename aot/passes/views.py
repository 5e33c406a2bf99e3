"""Reshapes as views: finds the value at the start of a chain of reshapes, and removes views of the input."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph
from aot.ops.reshape import Reshape
from aot.passes.names import rename_reads
from aot.passes.outcome import Miss


def behind_views(value: str, graph: Graph) -> str:
    """Returns the value before any reshapes; the value itself if it is not the result of one."""
    maker = graph.producers.get(value)
    if maker is None or not isinstance(maker.op, Reshape):
        return value
    return behind_views(maker.reads[0], graph)


def without_input_views(graph: Graph) -> Graph:
    """Returns the graph whose input, if it is only read through reshapes, has the shape of the last."""
    while not isinstance(seen := past_input_view(graph), Miss):
        graph = seen
    return graph


def past_input_view(graph: Graph) -> Graph | Miss:
    """Returns the graph whose input has the shape of the reshape that alone reads it, or why not."""
    if len(graph.inputs) != 1:
        return Miss(f"the model has {len(graph.inputs)} inputs")
    (value,) = graph.inputs
    if value in graph.kept:
        return Miss(f'the input "{value}" is an output, too')
    readers = graph.readers[value]
    if len(readers) != 1 or not isinstance(readers[0].op, Reshape):
        names = ", ".join(f'"{node.name}" ({node.op.name})' for node in readers)
        return Miss(f'the input "{value}" is read as it is, by {names}')
    (view,) = readers[0].outputs
    if view in graph.kept:
        return Miss(f'the reshape "{readers[0].name}" computes "{view}", which is an output')
    nodes = rename_reads((node for node in graph.nodes if node is not readers[0]), {view: value})
    types = {name: kind for name, kind in graph.types.items() if name != view}
    return replace(graph, nodes=nodes, types={**types, value: graph.types[view]})
