"""Sequences are split into rows of several pixels, so that computation along time goes row by row.

The row length divides the sequence, and may differ between layers. If windows overlap, a separate node cuts
them out of the sequence: a convolution then iterates over rows of pixels as in an image.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.mean import COLUMNS, ROWS, Mean
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.spatial import NO_PADDING, Pool2d
from aot.ops.windows import Windows
from aot.passes.goals import PlacementGoal
from aot.passes.outcome import Outcome, Rewritten, outcome
from aot.passes.rewrite import without_dead_code
from aot.passes.sequence_rows import (
    RowChoice,
    SequenceShape,
    SlidingWindow,
    choose_rows,
    reduces_sequence,
    sequence_of,
    sliding_window_of,
)
from aot.passes.values import NewValues

_MAX_POINTERS = 24  # to rows of a streamed input, in one window


def split_sequences_into_rows(graph: Graph, goal: PlacementGoal) -> Outcome:
    """Makes rows as short as the goal allows; a streamed input arrives in as few pixels as possible."""
    rows = choose_rows(graph, goal.max_slowdown, goal.costs)
    if not rows.nodes:
        return outcome(graph, graph, rows.left_alone, "there is no convolution along a sequence")
    split = without_dead_code(_SequenceSplit(graph, rows, goal.is_streamed).run())
    return Rewritten(split, rows.left_alone)


class _SequenceSplit(NewValues):
    """The state of the rewriting; call run() once."""

    def __init__(self, graph: Graph, rows: RowChoice, is_streamed: bool) -> None:
        super().__init__(graph)
        self.rows = rows
        self.streamed = graph.inputs if is_streamed else ()
        self.nodes: list[Node] = []
        self.made: dict[tuple[str, int], str] = {}  # (root, pixels in a row) -> the value with such rows

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node.name in self.rows.nodes:
                self._rewrite(node)
            elif reduces_sequence(node, self.graph) and self.rows.root(node.reads[0]) in self.rows.pixels:
                self._end(node)
            else:
                self.nodes.append(node)
        return self.graph.with_nodes(self.nodes, types=self.types)

    def _rewrite(self, node: Node) -> None:
        """Replaces the node by one on rows of pixels; a reshape serves readers that need the old shape."""
        (value,) = node.outputs
        pixels = self.rows.pixels[self.rows.root(value)]
        made = self.value(f"{value}/rows", _split(self.graph.types[value], pixels))
        window = sliding_window_of(node, self.graph) or SlidingWindow(1, 1, 1, 0, 0)
        inputs = tuple(
            v if v is None or v in self.graph.constants else self._windows(v, window, value)
            for v in node.inputs
        )
        self.nodes.append(replace(node, op=_along_rows(node.op, window), inputs=inputs, outputs=(made,)))
        self.made[self.rows.root(value), pixels] = made
        back = Reshape(self.graph.types[value].shape)
        self.nodes.append(Node(f"{node.name}/line", back, (made,), (value,), node.origin))

    def _seen(self, value: str, pixels: int) -> str:
        """Returns a sequence as rows of `pixels` pixels."""
        root = self.rows.root(value)
        if (root, pixels) not in self.made:
            seen = self.value(f"{root}/by_{pixels}", _split(self.graph.types[value], pixels))
            source = self.made.get((root, self.rows.pixels.get(root, 0)), value)
            shape = self.type(seen).shape
            self.nodes.append(Node(seen, Reshape(shape), (source,), (seen,)))
            self.made[root, pixels] = seen
        return self.made[root, pixels]

    def _windows(self, value: str, window: SlidingWindow, result: str) -> str:
        """Returns the pixels that a row of results needs, side by side; a view if windows do not overlap."""
        sequence, made = _sequence(self.graph.types[value]), _sequence(self.graph.types[result])
        pixels, root = self.rows.pixels[self.rows.root(result)], self.rows.root(value)
        step, length = pixels * window.stride, window.span(pixels)
        if root in self.streamed:
            x = self._seen(value, _shortest(gcd(sequence.pixels, step), length))
        elif (
            length == step == self.rows.pixels.get(root, step)
            and not window.before
            and sequence.pixels % step == 0
        ):
            return self._seen(value, step)
        else:
            x = self._seen(value, gcd(self.rows.pixels.get(root, sequence.pixels), step))
        op = Windows(made.pixels // pixels, length, step, window.before)
        kind = replace(self.type(x), shape=(1, op.rows, length, sequence.channels))
        name = self.value(f"{result}/windows", kind)
        self.nodes.append(Node(name, op, (x,), (name,)))
        return name

    def _end(self, node: Node) -> None:
        root = self.rows.root(node.reads[0])
        x = self._seen(node.reads[0], self.rows.pixels[root])
        _, rows, columns, _ = self.type(x).shape
        size = (rows, columns)
        op = (
            replace(node.op, size=size, stride=size) if isinstance(node.op, Pool2d) else Mean((ROWS, COLUMNS))
        )
        self.nodes.append(replace(node, op=op, inputs=(x,)))


def _sequence(tensor: TensorType) -> SequenceShape:
    sequence = sequence_of(tensor)
    assert sequence is not None
    return sequence


def _split(tensor: TensorType, pixels: int) -> TensorType:
    sequence = _sequence(tensor)
    return replace(tensor, shape=(1, sequence.pixels // pixels, pixels, sequence.channels))


def _shortest(most: int, length: int) -> int:
    """Returns the shortest row that divides the longest one, which limits the number of rows in a window."""
    return next(d for d in range(1, most + 1) if most % d == 0 and (length <= d * _MAX_POINTERS or d == most))


def _along_rows(op: Op, window: SlidingWindow) -> Op:
    """Returns the op over windows that include their padding: along the row, unpadded."""
    if isinstance(op, Concat):
        return Concat(3)
    if isinstance(op, Pool2d):
        return replace(op, size=(1, window.size), stride=(1, window.stride))
    if isinstance(op, Conv2d | DepthwiseConv2d):
        return replace(op, stride=(1, window.stride), dilation=(1, window.dilation), padding=NO_PADDING)
    return op
