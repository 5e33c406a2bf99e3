"""Decides which sequences of a graph are split into rows, and how many pixels each row has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.mean import COLUMNS, ROWS, Mean
from aot.ops.reshape import Reshape
from aot.ops.spatial import Pool2d, extent

if TYPE_CHECKING:
    from aot.passes.goals import CostModel


# Sequences: images of one row or one column, and the nodes that operate along them.
#
# A one-dimensional convolution is imported as an image of one row, [1, 1, pixels, channels], between reshapes
# to [1, pixels, channels] or to a column. All of these have the same bytes and count as one sequence.


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


_MAX_SLOWDOWN_OF_ONE = 2  # times the overall limit, for a group with little work


@dataclass(frozen=True)
class RowChoice:
    """The rows of each sequence. Views of one another count as one sequence, with one root."""

    roots: Mapping[str, str]  # a view of a sequence -> the sequence
    pixels: Mapping[str, int]  # a split sequence -> pixels in a row
    nodes: frozenset[str]  # that compute rows of such sequences
    left_alone: Mapping[str, str]  # nodes along sequences that compute no rows -> why

    def root(self, value: str) -> str:
        return self.roots.get(value, value)


def choose_rows(graph: Graph, max_slowdown: float, costs: CostModel) -> RowChoice:
    """Returns the shortest rows within the allowed slowdown; sequences without such rows stay whole."""
    groups = _Groups(graph, costs)
    found = _pixels_of_rows(groups, max_slowdown)
    split = {group: pixels for group, pixels in found.items() if pixels < groups.length(group)}
    members = {value: groups.group(value) for value in graph.types if sequence_of(graph.types[value])}
    split_nodes = {n.name for n in groups.nodes if groups.group(n.outputs[0]) in split}
    return RowChoice(
        groups.roots,
        {value: split[group] for value, group in members.items() if group in split},
        frozenset(split_nodes),
        {
            node.name: _why_whole(groups, groups.group(node.outputs[0]), max_slowdown)
            for node in groups.nodes
            if groups.group(node.outputs[0]) in found and node.name not in split_nodes
        },
    )


def _why_whole(groups: _Groups, group: str, max_slowdown: float) -> str:
    length = groups.length(group)
    divisors = [pixels for pixels in range(1, length) if length % pixels == 0]
    least = min(groups.slowdown(group, pixels) for pixels in divisors)
    return (
        f"computes a sequence of {length} pixels: the cheapest rows would slow it down by {least:.1%}, "
        f"{max_slowdown:.1%} is allowed"
    )


def _pixels_of_rows(groups: _Groups, max_slowdown: float) -> dict[str, int]:
    """Returns the pixels for each group. Time that some groups save is spent on groups with little work."""
    found = {group: groups.shortest(group, max_slowdown) for group in groups.near_convolutions()}
    work = {group: groups.macs(group) for group in found}
    left = sum(work[group] * (max_slowdown - groups.slowdown(group, p)) for group, p in found.items())
    for group in sorted(found, key=lambda group: (work[group], group)):
        before = groups.slowdown(group, found[group])
        share = left / work[group] if work[group] else 1.0
        most = min(before + share, _MAX_SLOWDOWN_OF_ONE * max_slowdown)
        found[group] = min(found[group], groups.shortest(group, most))
        left -= work[group] * (groups.slowdown(group, found[group]) - before)
    return found


class _Groups:
    """The sequences of a graph, in groups that must have rows of equal length."""

    def __init__(self, graph: Graph, costs: CostModel) -> None:
        self.graph = graph
        self.costs = costs
        self.roots: dict[str, str] = {}
        self.joined: dict[str, str] = {}
        self.sliding: list[Node] = []
        self.pointwise: list[Node] = []
        for node in graph.nodes:
            self._sort(node)

    @property
    def nodes(self) -> list[Node]:
        return [*self.sliding, *self.pointwise]

    def _sort(self, node: Node) -> None:
        if is_sequence_view(node, self.graph):
            self.roots[node.outputs[0]] = self.roots.get(node.reads[0], node.reads[0])
        elif is_pointwise(node, self.graph):
            self.pointwise.append(node)
            for value in node.reads:
                if value not in self.graph.constants:
                    self.joined[self.group(value)] = self.group(node.outputs[0])
        elif sliding_window_of(node, self.graph) is not None:
            self.sliding.append(node)

    def group(self, value: str) -> str:
        value = self.roots.get(value, value)
        while self.joined.get(value, value) != value:
            value = self.joined[value]
        return value

    def macs(self, group: str) -> int:
        """Returns the multiplications of the nodes that compute its sequences."""
        types = ((n.op, self.graph.input_types(n), self.graph.output_types(n)) for n in self._makers(group))
        return sum(op.cost(inputs, outputs).macs for op, inputs, outputs in types)

    def shortest(self, group: str, max_slowdown: float) -> int:
        """Returns the shortest rows that divide the sequence and stay within the allowed slowdown."""
        length = self.length(group)
        divisors = (pixels for pixels in range(1, length) if length % pixels == 0)
        return next((pixels for pixels in divisors if self.slowdown(group, pixels) <= max_slowdown), length)

    def slowdown(self, group: str, pixels: int) -> float:
        """Returns the fraction of its convolutions' time that rows cost: to start, copy windows and call."""
        length, work = self.length(group), self.macs(group)
        if pixels == length:
            return 0.0
        makers = self._makers(group)
        copied = sum(self._window_bytes(node, pixels) for node in makers)
        costs = self.costs
        aside = length / pixels * (costs.macs_per_copied_byte * copied + costs.macs_per_call * len(makers))
        return costs.lost_pixels(pixels) / pixels + (aside / work if work else 0.0)

    def _window_bytes(self, node: Node, pixels: int) -> int:
        """Returns the bytes copied per row: 0 if the windows are the sequence itself."""
        window, x = sliding_window_of(node, self.graph), self.graph.types[node.reads[0]]
        sequence = sequence_of(x)
        if window is None or sequence is None or (window.size, window.before) == (window.stride, 0):
            return 0
        return window.span(pixels) * sequence.channels * x.dtype.bytes

    def _makers(self, group: str) -> list[Node]:
        return [node for node in self.nodes if self.group(node.outputs[0]) == group]

    def length(self, group: str) -> int:
        sequence = sequence_of(self.graph.types[group])
        assert sequence is not None
        return sequence.pixels

    def near_convolutions(self) -> set[str]:
        """Returns the groups connected by windows, starting at convolutions over images of one row."""
        links = [(self.group(n.reads[0]), self.group(n.outputs[0])) for n in self.sliding]
        seeds = [link for n, link in zip(self.sliding, links, strict=True) if self._is_along_a_row(n)]
        found = {group for link in seeds for group in link}
        while more := {g for link in links if found & set(link) for g in link} - found:
            found |= more
        return found

    def _is_along_a_row(self, node: Node) -> bool:
        return isinstance(node.op, Conv2d | DepthwiseConv2d) and self.graph.types[node.reads[0]].shape[1] == 1


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """A value as lines along its last axis; several consecutive lines form a row."""

    lines: int
    lines_per_row: int

    @property
    def count(self) -> int:
        return self.lines // self.lines_per_row

    def of(self, tensor: TensorType) -> TensorType:
        return replace(tensor, shape=(1, self.count, self.lines_per_row, tensor.shape[-1]))


@dataclass(frozen=True, slots=True)
class SeenInRows:
    """The rows of an operand as seen by the result; `picks` maps each result row to an operand row."""

    shape: tuple[int, int, int, int]
    picks: npt.NDArray[np.int32] | None = None  # None: the same rows, or a single row


def seen_in_rows(shape: tuple[int, ...], result: tuple[int, ...], rows: MatrixRows) -> SeenInRows | None:
    """Returns the rows of an operand broadcast to the result's shape; None if it has no such rows."""
    *before, channels = (1,) * (len(result) - len(shape)) + shape or (1,)
    sizes = result[:-1]
    if all(size == 1 for size in before):
        return SeenInRows((1, 1, 1, channels))
    if tuple(before) == sizes:
        return SeenInRows((1, rows.count, rows.lines_per_row, channels))
    first = next(axis for axis, size in enumerate(before) if size != 1)
    last = max(axis for axis, size in enumerate(before) if size != 1)
    held, after = prod(before), prod(sizes[last + 1 :])
    if prod(sizes[first : last + 1]) != held:
        return None
    if after == 1 and held % rows.lines_per_row == 0:
        own = held // rows.lines_per_row
        return SeenInRows((1, own, rows.lines_per_row, channels), np.arange(rows.count, dtype=np.int32) % own)
    if after % rows.lines_per_row == 0:
        picks = np.arange(rows.count, dtype=np.int32) // (after // rows.lines_per_row) % held
        return SeenInRows((1, held, 1, channels), picks)
    return None
