"""Decides which sequences of a graph are split into rows, and how many pixels each row has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aot.ir.graph import Graph, Node
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.passes.sequences import is_pointwise, is_sequence_view, sequence_of, sliding_window_of

if TYPE_CHECKING:
    from aot.passes.cost_model import CostModel

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
