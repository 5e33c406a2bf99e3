"""Lists of rows built by loops: Keras' recurrent layers insert each step's row into a list.

Before the first row and after the last one the list is empty, which only a concatenation supports. A list is
recorded as its parts, so that the next step uses these and copies no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from aot.frontend.tflite.operation import TfliteOperator
from aot.ops.concat import Concat
from aot.ops.reshape import Reshape


def is_empty(node: TfliteOperator, sizes: Sequence[int]) -> bool:
    """Returns whether the operator's result has no rows; then no node computes it."""
    if not sizes or sizes[0] != 0 or min(sizes[1:], default=1) < 1:
        return False
    output = node.the_output
    node.draft.without_rows.add(output)
    node.draft.made.add(output)
    return True


def parts_of(node: TfliteOperator, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the parts that are joined along rows, without empty ones."""
    there = [name for name in names if name not in node.draft.without_rows]
    if len(there) == len(names) and node.draft.rows_of.keys().isdisjoint(there):
        return tuple(there)
    parts = tuple(part for name in there for part in node.draft.rows_of.get(name, (name,)))
    node.draft.rows_of[node.the_output] = parts
    return parts


def rows_within(node: TfliteOperator, x: str, begin: int, count: int) -> tuple[str, int]:
    """Returns a value with these rows of x and as few others as possible, and their start in it."""
    parts, first = node.draft.rows_of.get(x, ()), 0
    while parts and begin >= first + node.tensor(parts[0]).shape[0]:
        first += node.tensor(parts[0]).shape[0]
        parts = parts[1:]
    last, end = 0, first
    while last < len(parts) and end < begin + count:
        end += node.tensor(parts[last]).shape[0]
        last += 1
    if not parts or end < begin + count or parts[:last] == node.draft.rows_of[x]:
        return x, begin
    return _joined(node, parts[:last]), begin - first


def keep_rows(node: TfliteOperator, x: str, output: str) -> None:
    """Records the parts of x for the output, which has the same elements."""
    if x in node.draft.rows_of:
        node.draft.rows_of[output] = node.draft.rows_of[x]


def _joined(node: TfliteOperator, parts: tuple[str, ...]) -> str:
    if len(parts) == 1:
        node.draft.rows_of[parts[0]] = parts
        return parts[0]
    first = node.tensor(parts[0])
    flat = [node.reshaped(name, (1, node.tensor(name).elements)) for name in parts]
    rows = sum(node.tensor(name).shape[0] for name in parts)
    shape = (rows, *first.shape[1:])
    whole = node.value_like(f"{parts[0]}/rows", first, (1, sum(node.tensor(n).elements for n in flat)))
    node.add_node(Concat(1), flat, whole)
    named = node.value_like(whole, first, shape)
    node.add_node(Reshape(shape), (whole,), named)
    node.draft.rows_of[named] = parts
    return named
