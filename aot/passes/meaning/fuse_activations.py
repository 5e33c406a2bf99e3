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
from aot.ops.reshape import Reshape
from aot.ops.spatial import Pool2d
from aot.ops.unary import Clamp
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.passes.values import sole_makers
from aot.patterns.pattern import Match, is_op

Fusing = Add | Conv2d | Dense | DepthwiseConv2d | Div | Mul | Pool2d | Sub


def fuse_activations(graph: Graph) -> Outcome:
    """Keeps clamps of integers: clamping before rounding changes results. A fused clamp becomes a view."""
    return rewrite(graph, is_op("clamp"), _fused, "there is no separate clamp")


def _fused(graph: Graph, found: Match) -> Graph | Miss:
    clamp = graph.producers[found.value]
    activation = clamp.op_as(Clamp).activation
    dtype = graph.types[found.value].dtype
    if dtype is not DType.F32:
        return Miss(f"clamps {dtype.value}, which is rounded before the clamp")
    makers = sole_makers(graph, clamp.reads[0], _accepts_activation)
    if isinstance(makers, Miss):
        return makers
    changed = {node.name: _ending(node, activation) for node in makers}
    changed[clamp.name] = replace(clamp, op=Reshape(graph.types[clamp.reads[0]].shape))
    return graph.with_changed(changed)


def _accepts_activation(maker: Node) -> bool | Miss:
    if isinstance(maker.op, Fusing):
        has_none = maker.op.activation is Activation.NONE
        return has_none or Miss(f'follows "{maker.name}", which already has an activation')
    if isinstance(maker.op, Concat | Reshape):
        return False
    return Miss(f'follows "{maker.name}" ({maker.op.name}), which accepts no activation')


def _ending(node: Node, activation: Activation) -> Node:
    assert isinstance(node.op, Fusing)
    return replace(node, op=replace(node.op, activation=activation))
