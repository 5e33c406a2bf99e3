"""Which lines of a graph are broken into rows, and how many pixels each row has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.passes.lines import is_pointwise, is_view, line_of, slide_of

_PIXELS_LOST = (0.27, 0.7, 0.48)  # by what tiles of three leave; measured on Cortex-M4
_COPY_MACS = 0.3  # of a byte that is copied into a window
_CALL_MACS = 100  # of a node that makes a row
_MOST_TIMES = 2  # the share that may be lost, in a single group


@dataclass(frozen=True)
class LineRows:
    roots: Mapping[str, str]  # a view of a line -> the line
    pixels: Mapping[str, int]  # line that is broken -> pixels in a row
    nodes: frozenset[str]  # that make rows of such lines

    def root(self, value: str) -> str:
        return self.roots.get(value, value)


def choose_rows(graph: Graph, most_loss: float) -> LineRows:
    """Rows as short as cost no more than that share of the time; lines that have no such stay whole."""
    lines = _Lines(graph)
    found = _pixels_of_rows(lines, most_loss)
    broken = {group: pixels for group, pixels in found.items() if pixels < lines.length(group)}
    members = {value: lines.group(value) for value in graph.types if line_of(graph.types[value])}
    nodes = [n.name for n in lines.nodes if lines.group(n.outputs[0]) in broken]
    return LineRows(
        lines.roots,
        {value: broken[group] for value, group in members.items() if group in broken},
        frozenset(nodes),
    )


def _pixels_of_rows(lines: _Lines, most_loss: float) -> dict[str, int]:
    """Of each group. What some leave of the time the others take, those with little work first."""
    found = {group: lines.shortest(group, most_loss) for group in lines.near_convolutions()}
    work = {group: lines.macs(group) for group in found}
    left = sum(work[group] * (most_loss - lines.loss(group, pixels)) for group, pixels in found.items())
    for group in sorted(found, key=lambda group: (work[group], group)):
        before = lines.loss(group, found[group])
        share = left / work[group] if work[group] else 1.0
        most = min(before + share, _MOST_TIMES * most_loss)
        found[group] = min(found[group], lines.shortest(group, most))
        left -= work[group] * (lines.loss(group, found[group]) - before)
    return found


class _Lines:
    """The lines of a graph in groups that must have rows of equal length."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.roots: dict[str, str] = {}
        self.joined: dict[str, str] = {}
        self.slides: list[Node] = []
        self.pointwise: list[Node] = []
        for node in graph.nodes:
            self._sort(node)

    @property
    def nodes(self) -> list[Node]:
        return [*self.slides, *self.pointwise]

    def _sort(self, node: Node) -> None:
        if is_view(node, self.graph):
            self.roots[node.outputs[0]] = self.roots.get(node.reads[0], node.reads[0])
        elif is_pointwise(node, self.graph):
            self.pointwise.append(node)
            for value in node.reads:
                if value not in self.graph.constants:
                    self.joined[self.group(value)] = self.group(node.outputs[0])
        elif slide_of(node, self.graph) is not None:
            self.slides.append(node)

    def group(self, value: str) -> str:
        value = self.roots.get(value, value)
        while self.joined.get(value, value) != value:
            value = self.joined[value]
        return value

    def macs(self, group: str) -> int:
        """Multiplications of the nodes that make its lines."""
        types = ((n.op, self.graph.input_types(n), self.graph.output_types(n)) for n in self._makers(group))
        return sum(op.cost(inputs, outputs).macs for op, inputs, outputs in types)

    def shortest(self, group: str, most_loss: float) -> int:
        """Of the rows that divide the line and cost no more than that share of the group's time."""
        length = self.length(group)
        divisors = (pixels for pixels in range(1, length) if length % pixels == 0)
        return next((pixels for pixels in divisors if self.loss(group, pixels) <= most_loss), length)

    def loss(self, group: str, pixels: int) -> float:
        """The share of its convolutions' time that rows take: to begin them, to copy windows, to call."""
        length, work = self.length(group), self.macs(group)
        if pixels == length:
            return 0.0
        makers = self._makers(group)
        copied = sum(self._window_bytes(node, pixels) for node in makers)
        aside = length / pixels * (_COPY_MACS * copied + _CALL_MACS * len(makers))
        return _PIXELS_LOST[pixels % 3] / pixels + (aside / work if work else 0.0)

    def _window_bytes(self, node: Node, pixels: int) -> int:
        """What is copied to make a row: nothing where windows are the line itself."""
        slide, x = slide_of(node, self.graph), self.graph.types[node.reads[0]]
        line = line_of(x)
        if slide is None or line is None or (slide.size, slide.before) == (slide.stride, 0):
            return 0
        return slide.span(pixels) * line.channels * x.dtype.bytes

    def _makers(self, group: str) -> list[Node]:
        return [node for node in self.nodes if self.group(node.outputs[0]) == group]

    def length(self, group: str) -> int:
        line = line_of(self.graph.types[group])
        assert line is not None
        return line.pixels

    def near_convolutions(self) -> set[str]:
        """The groups that windows lead to or from, beginning at convolutions over images of one row."""
        links = [(self.group(n.reads[0]), self.group(n.outputs[0])) for n in self.slides]
        seeds = [link for n, link in zip(self.slides, links, strict=True) if self._is_flat_convolution(n)]
        found = {group for link in seeds for group in link}
        while more := {g for link in links if found & set(link) for g in link} - found:
            found |= more
        return found

    def _is_flat_convolution(self, node: Node) -> bool:
        return isinstance(node.op, Conv2d | DepthwiseConv2d) and self.graph.types[node.reads[0]].shape[1] == 1
