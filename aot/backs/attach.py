"""Adds a declared back end to a model: nodes that compute a decision from the model's output."""

from __future__ import annotations

from dataclasses import replace

from aot.backs.table import declared_back
from aot.errors import ModelError
from aot.frontend.added_nodes import AddedNodes, builder_of
from aot.ir.graph import Graph
from aot.ir.verify import verify


def with_back(graph: Graph, declared: str) -> Graph:
    """Returns the model with the back end's outputs instead of its original ones. Raises ModelError."""
    back = declared_back(declared)
    refusal = back.refusal(graph)
    if refusal is not None:
        raise ModelError(refusal, f"--back {declared}")
    builder = builder_of(graph)
    nodes = AddedNodes(builder, "back", f"--back {declared.partition(':')[0]}", graph.outputs[0])
    outputs = back.add(nodes, graph)
    made = replace(
        graph,
        outputs=outputs,
        nodes=(*graph.nodes, *builder.nodes),
        types=builder.types,
        constants={**graph.constants, **builder.constants},
        states=(*graph.states, *nodes.states),
    )
    verify(made)
    return made
