"""Lists the functions of ops that implement several, under the names of format operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from textwrap import fill
from types import MappingProxyType

from aot.ops.combine import Combination
from aot.ops.compare import Relation
from aot.ops.reduce import Reduction
from aot.ops.unary_math import MathFunction

_WIDTH = 80
_FUNCTIONS: Mapping[str, type[Enum]] = MappingProxyType(
    {"combine": Combination, "compare": Relation, "reduce": Reduction, "unary_math": MathFunction}
)


def function_lines(ops: Iterable[str]) -> Iterator[str]:
    """Yields the functions of each such op, wrapped at 80 columns."""
    for op in ops:
        if op in _FUNCTIONS:
            names = ", ".join(each.value.replace("_", " ") for each in _FUNCTIONS[op])
            yield fill(f"{op} is one of: {names}", _WIDTH, subsequent_indent="  ")
