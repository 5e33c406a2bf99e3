"""Sequences: images of one row or one column, and the nodes that operate along them.

A one-dimensional convolution is imported as an image of one row, [1, 1, pixels, channels], between reshapes
to [1, pixels, channels] or to a column. All of these have the same bytes and count as one sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.mean import COLUMNS, ROWS, Mean
from aot.ops.pooling import Pool2d
from aot.ops.reshape import Reshape
from aot.ops.spatial import extent


@dataclass(frozen=True, slots=True)
class SequenceShape:
    pixels: int
    channels: int


def sequence_of(tensor: TensorType) -> SequenceShape | None:
    """Returns the shape of a tensor as a sequence of several pixels; None if it is not one."""
    shape = tensor.shape
    if len(shape) == 3 and shape[0] == 1 < shape[1]:
        return SequenceShape(shape[1], shape[2])
    if len(shape) == 4 and shape[0] == 1 and min(shape[1:3]) == 1 < max(shape[1:3]):
        return SequenceShape(max(shape[1:3]), shape[3])
    return None


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """A window that moves along a sequence."""

    size: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def is_one_pixel(self) -> bool:
        """Returns whether each result depends only on the pixel at its own position."""
        return (self.size, self.stride, self.before, self.after) == (1, 1, 0, 0)

    def span(self, pixels: int) -> int:
        """Returns the number of input pixels that `pixels` neighboring results need."""
        return (pixels - 1) * self.stride + extent(self.size, self.dilation)


def sliding_window_of(node: Node, graph: Graph) -> SlidingWindow | None:
    """Returns the window of a convolution or pool along a sequence; None if it has no window or sequence."""
    if not isinstance(node.op, Conv2d | DepthwiseConv2d | Pool2d) or not _makes_sequences(node, graph):
        return None
    x = graph.types[node.reads[0]]
    along, across = (ROWS, COLUMNS) if x.shape[2] == 1 else (COLUMNS, ROWS)
    sizes = window_sizes(node, graph)
    (before, after), around = node.op.padding[along - 1], node.op.padding[across - 1]
    if around != (0, 0) or sizes[across - 1] != 1:
        return None
    if isinstance(node.op, Pool2d):
        return (
            None if before or after else SlidingWindow(sizes[along - 1], node.op.stride[along - 1], 1, 0, 0)
        )
    if along == ROWS and sizes[0] > 1:
        return None  # its weights are for a column
    dilation = node.op.dilation[along - 1]
    return SlidingWindow(sizes[along - 1], node.op.stride[along - 1], dilation, before, after)


def window_sizes(node: Node, graph: Graph) -> tuple[int, int]:
    """Returns rows and columns of the window of a convolution or a pool."""
    if isinstance(node.op, Pool2d):
        return node.op.size
    shape = graph.types[node.reads[1]].shape
    return (shape[1], shape[2]) if isinstance(node.op, Conv2d) else (shape[0], shape[1])


def _makes_sequences(node: Node, graph: Graph) -> bool:
    return all(sequence_of(graph.types[v]) is not None for v in (node.reads[0], *node.outputs))


def is_sequence_view(node: Node, graph: Graph) -> bool:
    """Returns whether the node reshapes a sequence."""
    if not isinstance(node.op, Reshape) or not _makes_sequences(node, graph):
        return False
    return sequence_of(graph.types[node.reads[0]]) == sequence_of(graph.types[node.outputs[0]])


def is_pointwise(node: Node, graph: Graph) -> bool:
    """Returns whether each result pixel depends only on pixels at its position and on shared constants."""
    made = sequence_of(graph.types[node.outputs[0]])
    window = sliding_window_of(node, graph)
    if made is None or window is not None:
        return window is not None and window.is_one_pixel
    values = {i: value for i, value in enumerate(node.inputs) if value is not None}
    moving = [i for i, value in values.items() if value not in graph.constants]
    sequences = [sequence_of(graph.types[values[i]]) for i in moving]
    if isinstance(node.op, Concat):
        is_along_channels = node.op.axis == graph.types[node.outputs[0]].rank - 1
        return is_along_channels and len(moving) == len(node.inputs) and None not in sequences
    if not moving or not set(moving) <= set(node.op.elementwise) or set(sequences) != {made}:
        return False
    fixed = [graph.types[values[i]] for i in node.op.elementwise if i not in moving]
    return all(constant.elements in (1, *constant.shape[-1:]) for constant in fixed)


def reduces_sequence(node: Node, graph: Graph) -> bool:
    """Returns whether the node reduces all pixels of a sequence to one."""
    sequence = sequence_of(graph.types[node.reads[0]]) if node.reads else None
    if sequence is None:
        return False
    if isinstance(node.op, Mean):
        return all(a in node.op.axes or graph.types[node.reads[0]].shape[a] == 1 for a in (ROWS, COLUMNS))
    if isinstance(node.op, Pool2d):
        return node.op.padding == ((0, 0), (0, 0)) and node.op.size == graph.types[node.reads[0]].shape[1:3]
    return False
