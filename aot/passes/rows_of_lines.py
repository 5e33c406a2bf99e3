"""Lines of pixels broken into rows of several, so that what is computed along time goes row by row.

How many pixels a row has divides the line, and may differ from layer to layer. Where windows overlap, a node
of its own cuts them out of the line: rows of pixels that a convolution goes over as it does in an image.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.pooling import Pool2d
from aot.ops.reduce import COLUMNS, ROWS, Mean
from aot.ops.reshape import Reshape
from aot.ops.spatial import NO_PADDING
from aot.ops.windows import Windows
from aot.passes.line_rows import LineRows, choose_rows
from aot.passes.lines import Line, Slide, is_end, line_of, slide_of
from aot.passes.names import fresh_name
from aot.passes.remove_dead_code import remove_dead_code

_MOST_POINTERS = 24  # to pixels of the input that come one at a time


def rows_of_lines(graph: Graph, most_loss: float, is_pushed: bool = False) -> Graph:
    """Rows as short as that allows; an input that is pushed comes in as few pixels at a time as can be.

    The result is the same graph where no line is convolved.
    """
    rows = choose_rows(graph, most_loss)
    return graph if not rows.nodes else remove_dead_code(_Rewriting(graph, rows, is_pushed).run())


class _Rewriting:
    """Holds what is made on the way; run() once."""

    def __init__(self, graph: Graph, rows: LineRows, is_pushed: bool) -> None:
        self.graph = graph
        self.rows = rows
        self.pushed = graph.inputs if is_pushed else ()
        self.types: dict[str, TensorType] = dict(graph.types)
        self.nodes: list[Node] = []
        self.made: dict[tuple[str, int], str] = {}  # (root, pixels in a row) -> the value seen so

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node.name in self.rows.nodes:
                self._rewrite(node)
            elif is_end(node, self.graph) and self.rows.root(node.reads[0]) in self.rows.pixels:
                self._end(node)
            else:
                self.nodes.append(node)
        return self.graph.with_nodes(self.nodes, types=self.types)

    def _rewrite(self, node: Node) -> None:
        """The node on rows of pixels; its result is there as it was, too, for whom that concerns."""
        (value,) = node.outputs
        pixels = self.rows.pixels[self.rows.root(value)]
        made = self._named(f"{value}/rows", _broken(self.graph.types[value], pixels))
        slide = slide_of(node, self.graph) or Slide(1, 1, 1, 0, 0)
        inputs = tuple(
            v if v is None or v in self.graph.constants else self._windows(v, slide, value)
            for v in node.inputs
        )
        self.nodes.append(replace(node, op=_along_rows(node.op, slide), inputs=inputs, outputs=(made,)))
        self.made[self.rows.root(value), pixels] = made
        back = Reshape(self.graph.types[value].shape)
        self.nodes.append(Node(f"{node.name}/line", back, (made,), (value,), node.origin))

    def _seen(self, value: str, pixels: int) -> str:
        """A line as rows of so many pixels."""
        root = self.rows.root(value)
        if (root, pixels) not in self.made:
            seen = self._named(f"{root}/by_{pixels}", _broken(self.graph.types[value], pixels))
            source = self.made.get((root, self.rows.pixels.get(root, 0)), value)
            shape = self.types[seen].shape
            self.nodes.append(Node(seen, Reshape(shape), (source,), (seen,)))
            self.made[root, pixels] = seen
        return self.made[root, pixels]

    def _windows(self, value: str, slide: Slide, result: str) -> str:
        """What the results of a row need, side by side; a view where nothing overlaps."""
        line, made = _line(self.graph.types[value]), _line(self.graph.types[result])
        pixels, root = self.rows.pixels[self.rows.root(result)], self.rows.root(value)
        step, length = pixels * slide.stride, slide.span(pixels)
        if root in self.pushed:
            x = self._seen(value, _shortest(gcd(line.pixels, step), length))
        elif (
            length == step == self.rows.pixels.get(root, step)
            and not slide.before
            and line.pixels % step == 0
        ):
            return self._seen(value, step)
        else:
            x = self._seen(value, gcd(self.rows.pixels.get(root, line.pixels), step))
        op = Windows(made.pixels // pixels, length, step, slide.before)
        kind = replace(self.types[x], shape=(1, op.rows, length, line.channels))
        name = self._named(f"{result}/windows", kind)
        self.nodes.append(Node(name, op, (x,), (name,)))
        return name

    def _end(self, node: Node) -> None:
        root = self.rows.root(node.reads[0])
        x = self._seen(node.reads[0], self.rows.pixels[root])
        _, rows, columns, _ = self.types[x].shape
        size = (rows, columns)
        op = (
            replace(node.op, size=size, stride=size) if isinstance(node.op, Pool2d) else Mean((ROWS, COLUMNS))
        )
        self.nodes.append(replace(node, op=op, inputs=(x,)))

    def _named(self, wish: str, kind: TensorType) -> str:
        name = fresh_name(wish, self.types)
        self.types[name] = kind
        return name


def _line(tensor: TensorType) -> Line:
    line = line_of(tensor)
    assert line is not None
    return line


def _broken(tensor: TensorType, pixels: int) -> TensorType:
    line = _line(tensor)
    return replace(tensor, shape=(1, line.pixels // pixels, pixels, line.channels))


def _shortest(most: int, length: int) -> int:
    """Of the rows that divide the longest there can be: with not too many of them in a window."""
    return next(
        d for d in range(1, most + 1) if most % d == 0 and (length <= d * _MOST_POINTERS or d == most)
    )


def _along_rows(op: Op, slide: Slide) -> Op:
    """The op over windows that are all there: along the row, without padding."""
    if isinstance(op, Concat):
        return Concat(3)
    if isinstance(op, Pool2d):
        return replace(op, size=(1, slide.size), stride=(1, slide.stride))
    if isinstance(op, Conv2d | DepthwiseConv2d):
        return replace(op, stride=(1, slide.stride), dilation=(1, slide.dilation), padding=NO_PADDING)
    return op
