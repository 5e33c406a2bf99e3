"""Lists of rows built by loops: Keras' recurrent layers insert each step's row into a list.

Before the first row and after the last one the list is empty, which only a concatenation supports. A list is
recorded as its parts, so that the next step uses these and copies no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from aot.frontend.tflite.draft import TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ops.concat import Concat
from aot.ops.reshape import Reshape


def is_empty(draft: TfliteDraft, operator: TfliteOperator, sizes: Sequence[int]) -> bool:
    """Returns whether the operator's result has no rows; then no node computes it."""
    if not sizes or sizes[0] != 0 or min(sizes[1:], default=1) < 1:
        return False
    output = read.the_output(operator)
    draft.without_rows.add(output)
    draft.made.add(output)
    return True


def parts_of(draft: TfliteDraft, operator: TfliteOperator, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the parts that are joined along rows, without empty ones."""
    there = [name for name in names if name not in draft.without_rows]
    if len(there) == len(names) and draft.rows_of.keys().isdisjoint(there):
        return tuple(there)
    parts = tuple(part for name in there for part in draft.rows_of.get(name, (name,)))
    draft.rows_of[read.the_output(operator)] = parts
    return parts


def rows_within(
    draft: TfliteDraft, operator: TfliteOperator, x: str, begin: int, count: int
) -> tuple[str, int]:
    """Returns a value with these rows of x and as few others as possible, and their start in it."""
    parts, first = draft.rows_of.get(x, ()), 0
    while parts and begin >= first + draft.types[parts[0]].shape[0]:
        first += draft.types[parts[0]].shape[0]
        parts = parts[1:]
    last, end = 0, first
    while last < len(parts) and end < begin + count:
        end += draft.types[parts[last]].shape[0]
        last += 1
    if not parts or end < begin + count or parts[:last] == draft.rows_of[x]:
        return x, begin
    return _joined(draft, operator, parts[:last]), begin - first


def keep_rows(draft: TfliteDraft, x: str, output: str) -> None:
    """Records the parts of x for the output, which has the same elements."""
    if x in draft.rows_of:
        draft.rows_of[output] = draft.rows_of[x]


def _joined(draft: TfliteDraft, operator: TfliteOperator, parts: tuple[str, ...]) -> str:
    if len(parts) == 1:
        draft.rows_of[parts[0]] = parts
        return parts[0]
    first = draft.types[parts[0]]
    flat = [read.reshaped(draft, operator, name, (1, draft.types[name].elements)) for name in parts]
    rows = sum(draft.types[name].shape[0] for name in parts)
    shape = (rows, *first.shape[1:])
    whole = read.value_like(draft, f"{parts[0]}/rows", first, (1, sum(draft.types[n].elements for n in flat)))
    draft.add_node(operator, Concat(1), flat, whole)
    named = read.value_like(draft, whole, first, shape)
    draft.add_node(operator, Reshape(shape), (whole,), named)
    draft.rows_of[named] = parts
    return named
