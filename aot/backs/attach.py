"""Puts a declared back end behind a model: its nodes make a decision of the model's output."""

from __future__ import annotations

from dataclasses import replace

from aot.backs.anomaly import Anomaly
from aot.backs.table import Back, declared_back
from aot.errors import ModelError
from aot.frontend.added_nodes import AddedNodes, builder_of
from aot.ir.graph import Graph
from aot.ir.types import DType, TensorType
from aot.ir.verify import verify


def with_back(graph: Graph, declared: str) -> Graph:
    """The model with the outputs of its back end in place of its own. Raises ModelError."""
    back = declared_back(declared)
    refusal = _refusal(graph, back)
    if refusal is not None:
        raise ModelError(refusal, f"--back {declared}")
    builder = builder_of(graph)
    nodes = AddedNodes(builder, "back", f"--back {declared.partition(':')[0]}", graph.outputs[0])
    outputs = back.add(nodes, graph.inputs[0]) if isinstance(back, Anomaly) else back.add(nodes)
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


def _refusal(graph: Graph, back: Back) -> str | None:
    """The reason why the back end cannot stand behind this model."""
    if len(graph.outputs) != 1:
        return f"a back end takes one output, the model has {len(graph.outputs)}: {', '.join(graph.outputs)}"
    read = [*graph.outputs, *(graph.inputs if isinstance(back, Anomaly) else ())]
    for name in read:
        if not _is_number(graph.types[name]):
            return f'"{name}" holds {graph.types[name].dtype.value} without a scale, which is no number'
    if not isinstance(back, Anomaly):
        return None
    if len(graph.inputs) != 1:
        return (
            f"anomalies are told from one input, the model has {len(graph.inputs)}: {', '.join(graph.inputs)}"
        )
    given, made = (graph.types[name].elements for name in (graph.inputs[0], graph.outputs[0]))
    if given != made:
        return f"anomalies are told where as much comes out as goes in, here {made} numbers of {given}"
    return None


def _is_number(kind: TensorType) -> bool:
    return kind.dtype is DType.F32 or (kind.quant is not None and not kind.quant.is_per_channel)
