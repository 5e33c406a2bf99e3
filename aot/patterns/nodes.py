"""Patterns of nodes: a value that an op computes, from inputs that match further patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aot.errors import did_you_mean
from aot.ir.graph import Graph
from aot.ops import OPS
from aot.patterns.pattern import PartialMatch, Pattern, PatternError, PatternValue, search


@dataclass(frozen=True, eq=False)
class NodePattern(Pattern):
    """A value that this op computes. Call it with patterns to restrict the inputs, in order.

    An optional input without a pattern must be absent.
    """

    op: str
    inputs: tuple[Pattern, ...] | None = None  # None: any

    def __call__(self, *inputs: Pattern) -> NodePattern:
        return NodePattern(self.op, inputs)

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        node = graph.producers.get(value) if value is not None else None
        if node is None or node.op.name != self.op:
            return
        found = found.with_node(node)
        if self.inputs is None:
            yield found
        else:
            yield from _inputs_match(self.inputs, graph, node.inputs, found)

    def __str__(self) -> str:
        inputs = "..." if self.inputs is None else ", ".join(map(str, self.inputs))
        return f"{self.op}({inputs})"


def is_op(name: str) -> NodePattern:
    """Returns a pattern for outputs of the op, whatever its inputs. Raises PatternError for unknown ops."""
    if name not in OPS:
        raise PatternError(
            f'there is no op "{name}"{did_you_mean(name, OPS)}', hint="deploy docs ops lists all"
        )
    return NodePattern(name)


def _inputs_match(
    patterns: Sequence[Pattern], graph: Graph, values: Sequence[PatternValue], found: PartialMatch
) -> Iterator[PartialMatch]:
    if not patterns:
        if all(value is None for value in values):
            yield found
        return
    value = values[0] if values else None
    for way in search(patterns[0], graph, value, found):
        yield from _inputs_match(patterns[1:], graph, values[1:], way)
