"""Computes the smallest and largest integer that each channel of each int8 value can hold, for any input.

Sound, not tight: a channel with equal limits is constant. Channels are indices along the last axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import required
from aot.ops.requant import INT32_MAX, Ints, conv_requant, multiply_by_quantized_multiplier, quant_of
from aot.ops.reshape import Reshape
from aot.ops.rounding import RequantRounding
from aot.ops.spatial import NO_PADDING, Pool2d

MAX_CHANNELS = 1 << 16  # a longer last axis does not hold channels


@dataclass(frozen=True)
class Range:
    """The smallest and the largest stored integer, by channel."""

    low: Ints
    high: Ints

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        return np.equal(self.low, self.high)


def channel_ranges(graph: Graph) -> dict[str, Range]:
    """Returns the ranges of all int8 inputs and results that have channels, by name."""
    ranges = {name: _whole(graph.types[name]) for name in graph.given if _has_channels(graph.types[name])}
    for node in graph.nodes:
        for name in node.outputs:
            if _has_channels(graph.types[name]):
                ranges[name] = _result_range(node, graph, ranges)
    return ranges


def _has_channels(tensor: TensorType) -> bool:
    return tensor.dtype is DType.I8 and tensor.rank > 0 and tensor.shape[-1] <= MAX_CHANNELS


def _whole(tensor: TensorType) -> Range:
    low, high = tensor.dtype.limits
    return Range(np.full(tensor.shape[-1], low, np.int64), np.full(tensor.shape[-1], high, np.int64))


def _result_range(node: Node, graph: Graph, ranges: dict[str, Range]) -> Range:
    rule = _RULES.get(type(node.op))
    source = ranges.get(node.reads[0])
    if rule is None or source is None:
        return _whole(graph.types[node.outputs[0]])
    return rule(node, graph, source)


def _conv2d(node: Node, graph: Graph, x: Range) -> Range:
    op = node.op_as(Conv2d)
    weights = _weights(node, graph)
    if weights is None:
        return _whole(graph.types[node.outputs[0]])
    taps = weights.reshape(weights.shape[0], -1, weights.shape[3])
    low, high = _centred(node, graph, _padded(node, graph, x, op.padding != NO_PADDING))
    sums = _weighted(taps.clip(0).sum(1), taps.clip(max=0).sum(1), low, high)
    return _requantised(node, graph, sums, op.activation, op.rounding)


def _dense(node: Node, graph: Graph, x: Range) -> Range:
    op = node.op_as(Dense)
    weights = _weights(node, graph)
    if weights is None:
        return _whole(graph.types[node.outputs[0]])
    low, high = _centred(node, graph, x)
    sums = _weighted(weights.clip(0), weights.clip(max=0), low, high)
    return _requantised(node, graph, sums, op.activation, op.rounding)


def _depthwise_conv2d(node: Node, graph: Graph, x: Range) -> Range:
    op = node.op_as(DepthwiseConv2d)
    weights = _weights(node, graph)
    if weights is None:
        return _whole(graph.types[node.outputs[0]])
    low, high = _centred(node, graph, _padded(node, graph, x, op.padding != NO_PADDING))
    low, high = (np.repeat(limit, op.multiplier) for limit in (low, high))
    positive, negative = weights.clip(0).sum((0, 1)), weights.clip(max=0).sum((0, 1))
    sums = positive * low + negative * high, positive * high + negative * low
    return _requantised(node, graph, sums, op.activation, op.rounding)


def _pool2d(node: Node, graph: Graph, x: Range) -> Range:
    """Returns the input's range: means and maxima stay between their operands, also after rounding."""
    clamp = integer_clamp(node.op_as(Pool2d).activation, graph.types[node.outputs[0]])
    return Range(x.low.clip(*clamp), x.high.clip(*clamp))


def _reshape(node: Node, graph: Graph, x: Range) -> Range:
    channels = graph.types[node.outputs[0]].shape[-1]
    if channels == len(x.low):
        return x
    return Range(np.full(channels, x.low.min()), np.full(channels, x.high.max()))


def _weights(node: Node, graph: Graph) -> Ints | None:
    array = graph.constants.get(required(node.inputs[1]))
    return None if array is None else array.astype(np.int64)


def _padded(node: Node, graph: Graph, x: Range, has_padding: bool) -> Range:
    """Widens a range by the zero point, which taps in the padding read instead of the channel."""
    if not has_padding:
        return x
    zero = quant_of(graph.types[node.reads[0]]).zero_point
    return Range(np.minimum(x.low, zero), np.maximum(x.high, zero))


def _centred(node: Node, graph: Graph, x: Range) -> tuple[Ints, Ints]:
    zero = quant_of(graph.types[node.reads[0]]).zero_point
    return x.low - zero, x.high - zero


def _weighted(positive: Ints, negative: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    return positive @ low + negative @ high, positive @ high + negative @ low


def _requantised(
    node: Node, graph: Graph, sums: tuple[Ints, Ints], activation: Activation, rounding: RequantRounding
) -> Range:
    """Returns the requantized limits: requantization is monotone, unless a sum could overflow 32 bits."""
    x_type, w_type = graph.types[node.reads[0]], graph.types[node.reads[1]]
    out_type = graph.types[node.outputs[0]]
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is not None and bias not in graph.constants:
        return _whole(out_type)
    offset = 0 if bias is None else graph.constants[bias].astype(np.int64)
    in_single = isinstance(node.op, (Conv2d, DepthwiseConv2d)) and node.op.scales_in_single
    multipliers = conv_requant(x_type, w_type, out_type, out_type.shape[-1], in_single)
    mult, shift = (m.astype(np.int64) for m in multipliers)
    sums = sums[0] + offset, sums[1] + offset
    largest = np.maximum(abs(sums[0]), abs(sums[1])) << np.maximum(shift, 0)
    if largest.max() > INT32_MAX:
        return _whole(out_type)
    zero, clamp = quant_of(out_type).zero_point, integer_clamp(activation, out_type)
    low, high = (
        (multiply_by_quantized_multiplier(s, mult, shift, rounding) + zero).clip(*clamp) for s in sums
    )
    return Range(low, high)


_RULES: dict[type, Callable[[Node, Graph, Range], Range]] = {
    AveragePool2d: _pool2d,
    Conv2d: _conv2d,
    Dense: _dense,
    DepthwiseConv2d: _depthwise_conv2d,
    MaxPool2d: _pool2d,
    Reshape: _reshape,
}
