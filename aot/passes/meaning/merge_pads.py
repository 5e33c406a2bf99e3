"""Zero padding before a convolution becomes the padding of the convolution."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.pad import Pad
from aot.ops.spatial import Padding
from aot.passes.outcome import Outcome, Rewritten, outcome
from aot.passes.rewrite import rewrite
from aot.patterns.pattern import Match, absent, any_of, is_op, wildcard

_PAD = is_op("pad")
_BIAS = any_of(wildcard("bias"), absent())
_PADDED = any_of(*(is_op(op)(_PAD, wildcard("weights"), _BIAS) for op in ("conv2d", "depthwise_conv2d")))


def merge_pads(graph: Graph) -> Outcome:
    """Removes pads whose result is no longer read."""
    answer = rewrite(graph, _PADDED, _past_pads)
    changed = answer.graph if isinstance(answer, Rewritten) else graph
    left = {n.name: _why_left(n, n.op, changed) for n in changed.nodes if isinstance(n.op, Pad)}
    return outcome(graph, changed, left, "there is no separate pad")


def _why_left(pad: Node, op: Pad, graph: Graph) -> str:
    source, result = graph.types[pad.reads[0]], graph.types[pad.outputs[0]]
    if source.quant != result.quant:
        return "changes the quantization"
    if not _pads_with_zeros(pad, op, graph):
        return f"pads with {op.value}, but a convolution pads with {_zero(source)}"
    (made,) = pad.outputs
    if made in graph.kept:
        return f'computes "{made}", which is used outside of the graph'
    others = [n for n in graph.readers[made] if not isinstance(n.op, Conv2d | DepthwiseConv2d)]
    names = ", ".join(f'"{n.name}" ({n.op.name})' for n in others)
    return f"pads for {names}, which cannot pad with zeros by itself"


def _past_pads(graph: Graph, found: Match) -> Node:
    """Returns the convolution with the padding of all pads in a row before it."""
    node, made = graph.producers[found.value], found[_PAD]
    assert isinstance(node.op, Conv2d | DepthwiseConv2d)
    padding = node.op.padding
    while (pad := graph.producers.get(made)) is not None and isinstance(pad.op, Pad):
        if not _pads_with_zeros(pad, pad.op, graph):
            break
        padding, (made,) = _sum(padding, pad.op.padding), pad.reads
    return replace(node, op=replace(node.op, padding=padding), inputs=(made, *node.inputs[1:]))


def _pads_with_zeros(node: Node, op: Pad, graph: Graph) -> bool:
    """Returns whether it pads with its input's zero point, as convolutions do, and keeps the zero point."""
    source, result = graph.types[node.reads[0]], graph.types[node.outputs[0]]
    return source.quant == result.quant and op.value == _zero(source)


def _zero(tensor: TensorType) -> int:
    return 0 if tensor.quant is None else tensor.quant.zero_point


def _sum(one: Padding, other: Padding) -> Padding:
    (top, bottom), (left, right) = ((a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True))
    return (top, bottom), (left, right)
