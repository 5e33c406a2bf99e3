"""The range of a layer's sums of products over all inputs, from its weights: one row for each channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op, required
from aot.ops.requant import conv_requant, quant_of

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ProductSums:
    """The least and greatest sum of each channel.

    Each term counts from the zero point, so it is zero where a pixel is padding; every part of a sum, in any
    order of its terms, lies between the greatest and the least too, or is nearer to zero than `partial`.
    """

    weights: Ints  # channels x terms
    bias: Ints
    limits: tuple[int, int]  # of stored inputs
    zero_point: int  # of them
    left_shift: Ints  # that the reference makes before its product, by channel; 0 where it shifts right

    @property
    def low(self) -> int:
        """The least input, from the zero point."""
        return self.limits[0] - self.zero_point

    @property
    def high(self) -> int:
        return self.limits[1] - self.zero_point

    @property
    def least(self) -> Ints:
        return np.asarray(self.bias + self._terms(self.low, self.high).sum(axis=1), np.int64)

    @property
    def greatest(self) -> Ints:
        return np.asarray(self.bias + self._terms(self.high, self.low).sum(axis=1), np.int64)

    @property
    def partial(self) -> int:
        """A bound on |a part of a sum|, of any terms, with the bias or without, centered or as stored."""
        widest = max(abs(self.low), abs(self.high), self.high - self.low)
        products = np.abs(self.weights).sum(axis=1) * widest
        return int((products + np.abs(self.bias)).max())

    @property
    def shifted(self) -> int:
        """The greatest |sum| after the shift to the left that comes before the product."""
        magnitude = np.maximum(np.abs(self.least), np.abs(self.greatest))
        return int((magnitude << self.left_shift).max())

    def in_pairs(self, start: Array) -> int:
        """A bound on |a part of 256 times a sum|, made by half-words 256 * a + b of two weights.

        Sums begin at 256 * start - 127 * b of all pairs. A pair with the inputs x and y adds, in any order,
        (256 * a + b) * x and b * (256 * y + 127 - x). With its 127 * b each of them, and both, are at most
        256 * |a| + 257 * |b| times the widest stored input, so it does not matter which weights are a pair.
        """
        products = np.abs(self.weights).sum(axis=1) * 257 * -self.limits[0]
        return int((products + np.abs(start) * 256).max())

    def fills_half_words(self) -> bool:
        """True where two weights in any order are a half-word of 16 bits: no weight is -128."""
        return int(self.weights.min()) > -128

    def reached(self) -> bool:
        """Computes the sums of inputs chosen by the weights' signs: they must be the range's ends."""
        pairs = (
            (self.greatest, self.high, self.low, int(self.greatest.argmax())),
            (self.least, self.low, self.high, int(self.least.argmin())),
        )
        return all(
            int(ends[channel]) == self._dot(channel, positive, negative)
            for ends, positive, negative, channel in pairs
        )

    def _dot(self, channel: int, positive: int, negative: int) -> int:
        total = int(self.bias[channel])
        for weight in self.weights[channel].tolist():
            total += weight * (positive if weight > 0 else negative)
        return total

    def _terms(self, positive: int, negative: int) -> Ints:
        """Each term where inputs are `positive` at weights above zero, and `negative` below."""
        return np.where(self.weights > 0, self.weights * positive, self.weights * negative)


def sum_range(graph: Graph, node: Node) -> ProductSums | None:
    """The range of the node's sums; None where it is not an integer sum with constant weights."""
    op, out = _of_products(node.op, graph.output_types(node)[0])
    if not isinstance(op, Conv2d | DepthwiseConv2d | Dense):
        return None
    x, w = (required(each) for each in graph.input_types(node)[:2])
    weights = graph.constants.get(node.inputs[1] or "")
    if weights is None or not x.dtype.is_integer:
        return None
    flat = weights.reshape(-1, weights.shape[-1]).T if isinstance(op, DepthwiseConv2d) else weights
    flat = flat.reshape(flat.shape[0], -1)
    single = op.scales_in_single if not isinstance(op, Dense) else False
    _, shift = conv_requant(x, w, out, len(flat), single)
    return ProductSums(
        np.asarray(flat, np.int64),
        _bias(graph, node, len(flat)),
        x.dtype.limits,
        quant_of(x).zero_point,
        np.maximum(shift.astype(np.int64), 0) + np.zeros(len(flat), np.int64),
    )


def _of_products(op: Op, out: TensorType) -> tuple[Op, TensorType]:
    """The op that makes the sums, and the type that its result would be stored as."""
    return (op.conv, op.made(out)) if isinstance(op, Conv2dAdd) else (op, out)


def _bias(graph: Graph, node: Node, channels: int) -> Ints:
    bias: Array | None = graph.constants.get(node.inputs[2] or "") if len(node.inputs) > 2 else None
    return np.zeros(channels, np.int64) if bias is None else bias.astype(np.int64)
