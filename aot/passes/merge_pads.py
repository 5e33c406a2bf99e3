"""A convolution pads by itself: padding with zeros before it becomes its own."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.pad import Pad
from aot.ops.spatial import Padding


def merge_pads(graph: Graph) -> Graph:
    """Pads whose result nobody reads any more are removed."""
    merged = [_past_pad(node, graph) for node in graph.nodes]
    if all(old is new for old, new in zip(graph.nodes, merged, strict=True)):
        return graph
    read = {*graph.kept, *(value for node in merged for value in node.reads)}
    return graph.with_nodes(n for n in merged if not isinstance(n.op, Pad) or n.outputs[0] in read)


def _past_pad(node: Node, graph: Graph) -> Node:
    pad = graph.producers.get(node.reads[0]) if isinstance(node.op, Conv2d | DepthwiseConv2d) else None
    if pad is None or not isinstance(pad.op, Pad) or not _pads_with_zeros(pad, pad.op, graph):
        return node
    assert isinstance(node.op, Conv2d | DepthwiseConv2d)
    op = replace(node.op, padding=_sum(node.op.padding, pad.op.padding))
    return replace(node, op=op, inputs=(pad.reads[0], *node.inputs[1:]))


def _pads_with_zeros(node: Node, op: Pad, graph: Graph) -> bool:
    """What a convolution pads with: the zero point of what it reads, which must stay the same."""
    source, result = graph.types[node.reads[0]], graph.types[node.outputs[0]]
    zero = 0 if source.quant is None else source.quant.zero_point
    return source.quant == result.quant and op.value == zero


def _sum(one: Padding, other: Padding) -> Padding:
    (top, bottom), (left, right) = ((a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True))
    return (top, bottom), (left, right)
