"""Patterns with a condition: attributes of the op that computes a value, or the value's type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from aot.errors import did_you_mean
from aot.ir.graph import Graph
from aot.ir.types import DType
from aot.ops import OPS
from aot.patterns.nodes import NodePattern
from aot.patterns.pattern import PartialMatch, Pattern, PatternError, PatternValue, search

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
