"""A separate float clamp becomes the activation of the ops before it."""

from __future__ import annotations

from collections.abc import Mapping
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
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.values import needed_elsewhere, source_of

Fusing = Add | Conv2d | Dense | DepthwiseConv2d | Div | Mul | Pool2d | Sub


def fuse_activations(graph: Graph) -> Outcome:
    """Keeps clamps of integers: clamping before rounding changes results. A fused clamp becomes a view."""
    nodes, left = {node.name: node for node in graph.nodes}, dict[str, str]()
    for clamp in graph.nodes:
        if not isinstance(clamp.op, Clamp):
            continue
        found = _ops_to_fuse(graph, nodes, clamp)
        if isinstance(found, Miss):
            left[clamp.name] = found.because
            continue
        for node in found:
            nodes[node.name] = _ending(node, clamp.op.activation)
        nodes[clamp.name] = replace(clamp, op=Reshape(graph.types[clamp.reads[0]].shape))
    changed = any(nodes[node.name] is not node for node in graph.nodes)
    return outcome(
        graph, graph.with_nodes(nodes.values()) if changed else graph, left, "there is no separate clamp"
    )


def _ops_to_fuse(graph: Graph, nodes: Mapping[str, Node], clamp: Node) -> list[Node] | Miss:
    dtype = graph.types[clamp.outputs[0]].dtype
    if dtype is not DType.F32:
        return Miss(f"clamps {dtype.value}, which is rounded before the clamp")
    return _ops_before(graph, nodes, clamp.reads[0])


def _ending(node: Node, activation: Activation) -> Node:
    assert isinstance(node.op, Fusing)
    return replace(node, op=replace(node.op, activation=activation))


def _ops_before(graph: Graph, nodes: Mapping[str, Node], value: str) -> list[Node] | Miss:
    """Returns the nodes without activation that alone compute the value, through reshapes and concats.

    `nodes` has each node by name as it is by now: fusing changes ops, but no values.
    """
    while (shared := needed_elsewhere(graph, value)) is None:
        if value not in graph.producers:
            return Miss(f'reads "{value}", {source_of(graph, value)}: no node computes it')
        maker = nodes[graph.producers[value].name]
        if isinstance(maker.op, Fusing):
            has_none = maker.op.activation is Activation.NONE
            return [maker] if has_none else Miss(f'follows "{maker.name}", which already has an activation')
        if isinstance(maker.op, Concat):
            return _ops_of_parts(graph, nodes, maker)
        if not isinstance(maker.op, Reshape):
            return Miss(f'follows "{maker.name}" ({maker.op.name}), which accepts no activation')
        value = maker.reads[0]
    return shared


def _ops_of_parts(graph: Graph, nodes: Mapping[str, Node], join: Node) -> list[Node] | Miss:
    found: list[Node] = []
    for part in join.reads:
        ops = _ops_before(graph, nodes, part)
        if isinstance(ops, Miss):
            return ops
        found += ops
    return found
