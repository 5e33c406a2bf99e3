"""A clamp of real numbers that stands alone becomes the activation of the op before."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Div, Mul, Sub
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
    before = _op_before(graph, clamp.reads[0])
    if before is None:
        return graph
    assert isinstance(before.op, Fusing)
    op = replace(before.op, activation=activation)
    view = Reshape(graph.types[clamp.reads[0]].shape)
    swapped = {before.name: replace(before, op=op), clamp.name: replace(clamp, op=view)}
    return graph.with_nodes(swapped.get(node.name, node) for node in graph.nodes)


def _op_before(graph: Graph, value: str) -> Node | None:
    """What makes the value, or what it is a view of, without an activation; nobody else reads it."""
    while len(graph.readers[value]) == 1 and value not in graph.kept:
        maker = graph.producers.get(value)
        if maker is None:
            return None
        if isinstance(maker.op, Fusing):
            return maker if maker.op.activation is Activation.NONE else None
        if not isinstance(maker.op, Reshape):
            return None
        value = maker.reads[0]
    return None
