"""A clamp of real numbers that stands alone becomes the activation of the ops before."""

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

Fusing = Add | Conv2d | Dense | DepthwiseConv2d | Div | Mul | Pool2d | Sub


def fuse_activations(graph: Graph) -> Graph:
    """Integers are left alone: rounded before a clamp they differ. The clamp stays as a view."""
    for node in graph.nodes:
        is_real = graph.types[node.outputs[0]].dtype is DType.F32
        if isinstance(node.op, Clamp) and is_real:
            graph = _fused(graph, node, node.op.activation)
    return graph


def _fused(graph: Graph, clamp: Node, activation: Activation) -> Graph:
    swapped = {node.name: _ending(node, activation) for node in _ops_before(graph, clamp.reads[0])}
    if not swapped:
        return graph
    swapped[clamp.name] = replace(clamp, op=Reshape(graph.types[clamp.reads[0]].shape))
    return graph.with_nodes(swapped.get(node.name, node) for node in graph.nodes)


def _ending(node: Node, activation: Activation) -> Node:
    assert isinstance(node.op, Fusing)
    return replace(node, op=replace(node.op, activation=activation))


def _ops_before(graph: Graph, value: str) -> list[Node]:
    """What makes the value, what it is a view of, or all that is joined to it; none where one cannot end so.

    They have no activation, and nobody else reads what they make.
    """
    while len(graph.readers[value]) == 1 and value not in graph.kept:
        maker = graph.producers.get(value)
        if maker is None:
            return []
        if isinstance(maker.op, Fusing):
            return [maker] if maker.op.activation is Activation.NONE else []
        if isinstance(maker.op, Concat):
            parts = [_ops_before(graph, part) for part in maker.reads]
            return [node for part in parts for node in part] if all(parts) else []
        if not isinstance(maker.op, Reshape):
            return []
        value = maker.reads[0]
    return []
