"""A separate float clamp becomes the activation of the ops before it."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Div, Mul, Sub
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.pooling import Pool2d
from aot.ops.reshape import Reshape
from aot.ops.unary import Clamp
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.readers import needed_elsewhere, source_of

Fusing = Add | Conv2d | Dense | DepthwiseConv2d | Div | Mul | Pool2d | Sub


def fuse_activations(graph: Graph) -> Outcome:
    """Keeps clamps of integers: clamping before rounding changes results. A fused clamp becomes a view."""
    before, left = graph, dict[str, str]()
    for clamp in graph.nodes:
        if not isinstance(clamp.op, Clamp):
            continue
        fused = _fused(graph, clamp, clamp.op.activation)
        if isinstance(fused, Miss):
            left[clamp.name] = fused.because
        else:
            graph = fused
    return outcome(before, graph, left, "no clamp stands alone")


def _fused(graph: Graph, clamp: Node, activation: Activation) -> Graph | Miss:
    dtype = graph.types[clamp.outputs[0]].dtype
    if dtype is not DType.F32:
        return Miss(f"clamps {dtype.value}, which is rounded before it")
    found = _ops_before(graph, clamp.reads[0])
    if isinstance(found, Miss):
        return found
    swapped = {node.name: _ending(node, activation) for node in found}
    swapped[clamp.name] = replace(clamp, op=Reshape(graph.types[clamp.reads[0]].shape))
    return graph.with_nodes(swapped.get(node.name, node) for node in graph.nodes)


def _ending(node: Node, activation: Activation) -> Node:
    assert isinstance(node.op, Fusing)
    return replace(node, op=replace(node.op, activation=activation))


def _ops_before(graph: Graph, value: str) -> list[Node] | Miss:
    """Returns the nodes without activation that alone compute the value, through reshapes and concats."""
    while (shared := needed_elsewhere(graph, value)) is None:
        maker = graph.producers.get(value)
        if maker is None:
            return Miss(f'reads "{value}", {source_of(graph, value)}: no node makes it')
        if isinstance(maker.op, Fusing):
            has_none = maker.op.activation is Activation.NONE
            return [maker] if has_none else Miss(f'follows "{maker.name}", which has an activation already')
        if isinstance(maker.op, Concat):
            return _ops_of_parts(graph, maker)
        if not isinstance(maker.op, Reshape):
            return Miss(f'follows "{maker.name}" ({maker.op.name}), which takes no activation')
        value = maker.reads[0]
    return shared


def _ops_of_parts(graph: Graph, join: Node) -> list[Node] | Miss:
    nodes: list[Node] = []
    for part in join.reads:
        found = _ops_before(graph, part)
        if isinstance(found, Miss):
            return found
        nodes += found
    return nodes
