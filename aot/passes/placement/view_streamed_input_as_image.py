"""A streamed input that is only read through reshapes gets the shape of the last one."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph
from aot.ops.reshape import Reshape
from aot.passes.names import rename_reads
from aot.passes.outcome import Miss, Outcome, Rewritten, Unchanged
from aot.passes.placement_goal import PlacementGoal


def view_streamed_input_as_image(graph: Graph, goal: PlacementGoal) -> Outcome:
    """Changes only the shape: the caller passes the same bytes in the same order."""
    if not goal.is_streamed:
        return Unchanged("the input is not streamed")
    seen = _past_reshape(graph)
    if isinstance(seen, Miss):
        return Unchanged(seen.because)
    while not isinstance(further := _past_reshape(seen), Miss):
        seen = further
    return Rewritten(seen)


def _past_reshape(graph: Graph) -> Graph | Miss:
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
        return Miss(f'the reshape "{readers[0].name}" makes "{view}", which is an output')
    nodes = rename_reads((node for node in graph.nodes if node is not readers[0]), {view: value})
    types = {name: kind for name, kind in graph.types.items() if name != view}
    return replace(graph, nodes=nodes, types={**types, value: graph.types[view]})
