"""Which lines of a graph are broken into rows, and how many pixels each row has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.passes.lines import is_pointwise, is_view, line_of, slide_of

_PIXELS_LOST = (0.27, 0.7, 0.48)  # by what tiles of three leave; measured on Cortex-M4
_MOST_TIMES = 2  # the share that may be lost, in a single group: copying windows and calls cost, too


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
    found = {group: _shortest(lines.length(group), most_loss) for group in lines.near_convolutions()}
    work = {group: lines.macs(group) for group in found}
    left = sum(work[group] * (most_loss - loss(pixels)) for group, pixels in found.items())
    for group in sorted(found, key=lambda group: (work[group], group)):
        before = loss(found[group])
        share = left / work[group] if work[group] else 1.0
        most = min(before + share, _MOST_TIMES * most_loss)
        found[group] = min(found[group], _shortest(lines.length(group), most))
        left -= work[group] * (loss(found[group]) - before)
    return found


def _shortest(length: int, most_loss: float) -> int:
    """Of the rows that divide the line."""
    return next(p for p in range(1, length + 1) if length % p == 0 and (loss(p) <= most_loss or p == length))


def loss(pixels: int) -> float:
    """The share of a convolution's time that beginning a row takes, and pixels that make no tile of three."""
    return _PIXELS_LOST[pixels % 3] / pixels


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
        makers = [node for node in self.nodes if self.group(node.outputs[0]) == group]
        types = ((node.op, self.graph.input_types(node), self.graph.output_types(node)) for node in makers)
        return sum(op.cost(inputs, outputs).macs for op, inputs, outputs in types)

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
