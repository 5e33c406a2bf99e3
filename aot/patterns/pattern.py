"""A pattern describes a value of a graph by the nodes that compute it; a match names these nodes.

A pattern object used twice inside another must match the same value both times. Matching tries all
alternatives in order and returns the first that holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from aot.errors import DeployError, did_you_mean
from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops import OPS

PatternValue = str | None  # a value's name, or None for an absent input


class PatternError(DeployError):
    """Raised for a pattern that can match nothing, because it uses an unknown name."""


@dataclass(frozen=True, eq=False)
class Pattern(ABC):
    """Base of all patterns. Compared by identity: two equal-looking patterns may match different values."""

    @abstractmethod
    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        """Yields all ways in which the value matches, consistent with the bindings found so far."""

    @abstractmethod
    def __str__(self) -> str:
        """Returns the pattern as errors and pages show it."""


@dataclass(frozen=True)
class PartialMatch:
    """The bindings known during matching."""

    values: Mapping[Pattern, PatternValue] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()

    def with_value(self, pattern: Pattern, value: PatternValue) -> PartialMatch:
        return PartialMatch({**self.values, pattern: value}, self.nodes)

    def with_node(self, node: Node) -> PartialMatch:
        return self if node in self.nodes else PartialMatch(self.values, (*self.nodes, node))


@dataclass(frozen=True)
class Match:
    """A match of a pattern: its value, the nodes of its ops, the value of each part."""

    value: str
    nodes: tuple[Node, ...]  # in graph order
    values: Mapping[Pattern, PatternValue] = field(repr=False)

    def __getitem__(self, part: Pattern) -> str:
        """Returns the value of a part. Raises KeyError if the alternative that matched lacks that part."""
        value = self.values[part]
        if value is None:
            raise KeyError(f"{part} is absent")
        return value


def search(
    pattern: Pattern, graph: Graph, value: PatternValue, found: PartialMatch
) -> Iterator[PartialMatch]:
    """Yields all ways in which the value matches; a pattern with a value already matches only that value."""
    if pattern in found.values:
        if found.values[pattern] == value:
            yield found
        return
    for way in pattern.ways(graph, value, found):
        yield way.with_value(pattern, value)


def match(pattern: Pattern, graph: Graph, value: str) -> Match | None:
    """Returns the first way in which a value of the graph matches, or None."""
    way = next(search(pattern, graph, value, PartialMatch()), None)
    if way is None:
        return None
    names = {node.name for node in way.nodes}
    nodes = way.nodes if len(names) < 2 else tuple(node for node in graph.nodes if node.name in names)
    return Match(value, nodes, way.values)


def matches(pattern: Pattern, graph: Graph) -> Iterator[Match]:
    """Yields the matches at the outputs of all nodes, in graph order; they may overlap."""
    for node in graph.nodes:
        for value in node.outputs:
            found = match(pattern, graph, value)
            if found is not None:
                yield found


@dataclass(frozen=True, eq=False)
class Wildcard(Pattern):
    """Any value that is present."""

    name: str = ""  # for printing only

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        if value is not None:
            yield found

    def __str__(self) -> str:
        return self.name or "*"


@dataclass(frozen=True, eq=False)
class ConstantPattern(Pattern):
    """A constant of the graph; with a number, one whose elements all equal it."""

    number: float | None = None

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        array = graph.constants.get(value) if value is not None else None
        if array is not None and (self.number is None or bool(np.all(array == self.number))):
            yield found

    def __str__(self) -> str:
        return "constant" if self.number is None else f"constant {self.number:g}"


@dataclass(frozen=True, eq=False)
class Absent(Pattern):
    """An absent optional input."""

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        if value is None:
            yield found

    def __str__(self) -> str:
        return "absent"


def wildcard(name: str = "") -> Pattern:
    return Wildcard(name)


def constant(number: float | None = None) -> Pattern:
    return ConstantPattern(number)


def absent() -> Pattern:
    return Absent()


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


@dataclass(frozen=True, eq=False)
class AnyOf(Pattern):
    """A value that matches one of the patterns; the first match counts."""

    patterns: tuple[Pattern, ...]

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        for pattern in self.patterns:
            yield from search(pattern, graph, value, found)

    def __str__(self) -> str:
        return f"({' | '.join(map(str, self.patterns))})"


def any_of(*patterns: Pattern) -> Pattern:
    """Returns a pattern that matches any of these. Raises PatternError for fewer than two."""
    if len(patterns) < 2:
        raise PatternError(f"any_of needs at least two patterns, not {len(patterns)}")
    return AnyOf(patterns)


def optional(around: Callable[[Pattern], Pattern], pattern: Pattern) -> Pattern:
    """Returns the pattern with or without a node around it: `optional(is_op("clamp"), x)`."""
    return any_of(around(pattern), pattern)


Shape = tuple[int | None, ...]  # None: any size


@dataclass(frozen=True, eq=False)
class AttributePattern(Pattern):
    """A value whose op has these attributes."""

    inner: Pattern
    attributes: tuple[tuple[str, object], ...]

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        node = graph.producers.get(value) if value is not None else None
        absent = object()
        if node is not None and all(
            getattr(node.op, name, absent) == wanted for name, wanted in self.attributes
        ):
            yield from search(self.inner, graph, value, found)

    def __str__(self) -> str:
        return f"{self.inner}[{', '.join(f'{name}={_describe(value)}' for name, value in self.attributes)}]"


@dataclass(frozen=True, eq=False)
class TypePattern(Pattern):
    """A value with this element type and shape; None matches any."""

    inner: Pattern
    dtype: DType | None
    shape: Shape | None

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        if value is None:
            return
        tensor = graph.types[value]
        is_of_type = self.dtype is None or tensor.dtype is self.dtype
        if is_of_type and (self.shape is None or _fits(tensor.shape, self.shape)):
            yield from search(self.inner, graph, value, found)

    def __str__(self) -> str:
        dtype = "" if self.dtype is None else self.dtype.value
        sizes = (
            "" if self.shape is None else f"[{', '.join('?' if n is None else str(n) for n in self.shape)}]"
        )
        return f"{self.inner}: {dtype}{sizes}"


def has_attr(pattern: Pattern, **attributes: object) -> Pattern:
    """Restricts the pattern to ops with these attributes. Raises PatternError for unknown attributes."""
    if isinstance(pattern, NodePattern):
        known = [each.name for each in fields(OPS[pattern.op])]  # type: ignore[arg-type]
        for name in attributes:
            if name not in known:
                raise PatternError(
                    f'{pattern.op} has no attribute "{name}"{did_you_mean(name, known)}',
                    hint=f"it has {', '.join(known) or 'none'}",
                )
    return AttributePattern(pattern, tuple(attributes.items()))


def has_type(pattern: Pattern, dtype: DType | None = None, shape: Shape | None = None) -> Pattern:
    """Returns the pattern restricted to a value type. Raises PatternError if neither is given."""
    if dtype is None and shape is None:
        raise PatternError("has_type needs an element type or a shape")
    return TypePattern(pattern, dtype, shape)


def _fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    sizes = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(other in (None, size) for size, other in sizes)


def _describe(value: object) -> str:
    return str(getattr(value, "value", value))


# Patterns of many nodes: the same pattern repeated in a chain, and all paths between two values.


Link = Callable[[Pattern], Pattern]


@dataclass(frozen=True, eq=False)
class Chain(Pattern):
    """Links on top of a value that matches `first`; the longest chain is tried first.

    `link` is called for each link, with a pattern for the link's input. Patterns that `link` only refers to
    must match the same value in all links.
    """

    link: Link
    first: Pattern
    least: int
    most: int | None

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        stack = [(value, found, self._longer(graph, value, found))]
        while stack:  # chains may be longer than Python's recursion limit
            here, so_far, longer = stack[-1]
            count = len(stack) - 1
            below = next(longer, None) if self.most is None or count < self.most else None
            if below is not None:
                stack.append((*below, self._longer(graph, *below)))
                continue
            stack.pop()
            if count >= self.least:
                yield from search(self.first, graph, here, so_far)

    def _longer(
        self, graph: Graph, value: PatternValue, found: PartialMatch
    ) -> Iterator[tuple[PatternValue, PartialMatch]]:
        """Yields the inputs of a link that computes this value."""
        hole = Wildcard("previous")
        for way in search(self.link(hole), graph, value, found):
            yield way.values[hole], way

    def __str__(self) -> str:
        often = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return f"{{{self.link(Wildcard('previous'))} {often} times from {self.first}}}"


def chain(link: Link, first: Pattern, least: int = 1, most: int | None = None) -> Pattern:
    """Returns a chain: `chain(lambda x: is_op("add")(x, constant()), wildcard())`. Raises PatternError."""
    if least < 0 or (most is not None and most < max(least, 1)):
        raise PatternError(f"a chain cannot have {least} to {most} links")
    hole = Wildcard("previous")
    if link(hole) is hole:
        raise PatternError("a link of a chain must contain more than its input")
    return Chain(link, first, least, most)


@dataclass(frozen=True, eq=False)
class Dominated(Pattern):
    """A value `last` computed from one value that matches `first`, through nodes that all match `path`.

    Constants may enter anywhere. The values of `first` and of the path have no other readers.
    """

    first: Pattern
    path: Pattern
    last: Pattern

    def ways(self, graph: Graph, value: PatternValue, found: PartialMatch) -> Iterator[PartialMatch]:
        for end in search(self.last, graph, value, found):
            added = [node for node in end.nodes if node not in found.nodes]
            for origin in _origins(graph, added):
                for begin in search(self.first, graph, origin, end):
                    inside = self._inside(graph, added, origin)
                    if inside is not None:
                        yield _with_nodes(begin, inside)

    def _inside(self, graph: Graph, last: list[Node], origin: str) -> list[Node] | None:
        """Returns the nodes on the paths from `origin`; None if one does not match or is read outside."""
        inside: dict[str, Node] = {}
        due = [value for node in last for value in node.reads]
        while due:
            value = due.pop()
            maker = graph.producers.get(value)
            if value == origin or value in graph.constants or maker in last:
                continue
            if maker is None or not _matches(self.path, graph, value):
                return None
            if maker.name not in inside:
                inside[maker.name] = maker
                due += maker.reads
        readers = {*inside, *(node.name for node in last)}
        made = [origin, *(value for node in inside.values() for value in node.outputs)]
        leaves = any(value in graph.kept or not _names(graph, value) <= readers for value in made)
        return None if leaves else list(inside.values())

    def __str__(self) -> str:
        return f"{{{self.last} over {self.path} from {self.first}}}"


def dominated(first: Pattern, path: Pattern, last: Pattern) -> Pattern:
    return Dominated(first, path, last)


def _origins(graph: Graph, nodes: list[Node]) -> list[str]:
    """Returns the non-constant inputs of these nodes and of the nodes before them, nearest first."""
    found: dict[str, None] = {}
    due = [value for node in nodes for value in node.reads]
    while due:
        value = due.pop(0)
        if value in graph.constants or value in found:
            continue
        found[value] = None
        maker = graph.producers.get(value)
        due += maker.reads if maker is not None else ()
    return list(found)


def _matches(pattern: Pattern, graph: Graph, value: str) -> bool:
    return next(search(pattern, graph, value, PartialMatch()), None) is not None


def _names(graph: Graph, value: str) -> set[str]:
    return {node.name for node in graph.readers[value]}


def _with_nodes(found: PartialMatch, nodes: list[Node]) -> PartialMatch:
    for node in nodes:
        found = found.with_node(node)
    return found
