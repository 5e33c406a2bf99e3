"""The range of a layer's sums of products over all inputs, computed from its weights by channel."""

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

    Terms are relative to the zero point, so they are zero for padding. Every partial sum, in any order of its
    terms, is within these limits as well, or closer to zero than `partial`.
    """

    weights: Ints  # channels x terms
    bias: Ints
    limits: tuple[int, int]  # of stored inputs
    zero_point: int  # of the inputs
    left_shift: Ints  # by channel: left shift in the reference before its multiplication; 0 for right shifts

    @property
    def low(self) -> int:
        """The least input, relative to the zero point."""
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
        """A bound on |partial sum| for any terms, with or without bias, centered or as stored."""
        widest = max(abs(self.low), abs(self.high), self.high - self.low)
        products = np.abs(self.weights).sum(axis=1) * widest
        return int((products + np.abs(self.bias)).max())

    @property
    def shifted(self) -> int:
        """The greatest |sum| after the left shift that precedes the multiplication."""
        magnitude = np.maximum(np.abs(self.least), np.abs(self.greatest))
        return int((magnitude << self.left_shift).max())

    def in_pairs(self, start: Array) -> int:
        """Returns a bound on |partial sum| * 256 for kernels with half-words 256 * a + b of two weights.

        Sums start at 256 * start - 127 * b over all pairs. A pair with inputs x and y adds, in any order,
        (256 * a + b) * x and b * (256 * y + 127 - x). Together with 127 * b, each of them and both are at
        most 256 * |a| + 257 * |b| times the widest stored input. Therefore it does not matter which weights
        form a pair.
        """
        products = np.abs(self.weights).sum(axis=1) * 257 * -self.limits[0]
        return int((products + np.abs(start) * 256).max())

    def fills_half_words(self) -> bool:
        """True if any two weights fit into a 16-bit half-word: no weight is -128."""
        return int(self.weights.min()) > -128

    def reached(self) -> bool:
        """Checks that inputs chosen by the weights' signs reach both ends of the range."""
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
        """Returns each term if inputs are `positive` for weights above zero, else `negative`."""
        return np.where(self.weights > 0, self.weights * positive, self.weights * negative)


def sum_range(graph: Graph, node: Node) -> ProductSums | None:
    """Returns the range of the node's sums, or None if they are not integers with constant weights."""
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
    """Returns the op that computes the sums, and the type of its unfused result."""
    return (op.conv, op.made(out)) if isinstance(op, Conv2dAdd) else (op, out)


def _bias(graph: Graph, node: Node, channels: int) -> Ints:
    bias: Array | None = graph.constants.get(node.inputs[2] or "") if len(node.inputs) > 2 else None
    return np.zeros(channels, np.int64) if bias is None else bias.astype(np.int64)
