"""Follows counted rows through the nodes of a file: nodes that keep rows separate may read them.

Rows after the counted ones are filler. A node that computes each row from the same input row keeps them in
place. A node that mixes rows, or outputs their number, would use filler as data, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import onnx
from onnx import NodeProto

from aot.frontend.onnx.draft import Item, NodePlace, OnnxDraft, Value

_CUT = "end the model before this node: then the rows and their count are outputs"
_SHAPE_OPERANDS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"ConstantOfShape": (0,), "Expand": (1,), "Range": (0, 1, 2), "Reshape": (1,), "Slice": (1, 2, 3, 4)}
)


@dataclass(frozen=True)
class _RowReader:
    """A node that reads counted rows: `axes` are their dimensions in the file's order, by operand."""

    node: NodeProto
    draft: OnnxDraft
    operands: tuple[Value | None, ...]
    axes: Mapping[int, int]
    shape: tuple[int, ...]  # of the result

    def shape_of(self, position: int) -> tuple[int, ...]:
        value = self.operands[position]
        return () if value is None else self.draft.shape(value)

    def attribute(self, name: str, default: Any) -> Any:
        found = (a for a in self.node.attribute if a.name == name)
        return next(map(onnx.helper.get_attribute_value, found), default)

    def axis(self, default: int, rank: int) -> int:
        return int(self.attribute("axis", default)) % rank


_Rule = Callable[[_RowReader], int | None]  # the rows' dimension in the results; None: rows are mixed


def _element_by_element(reader: _RowReader) -> int | None:
    """Counts dimensions from the last one."""
    rank = len(reader.shape)
    axes = {axis + rank - len(reader.shape_of(position)) for position, axis in reader.axes.items()}
    return axes.pop() if len(axes) == 1 else None


def _reshaped(reader: _RowReader) -> int | None:
    before = reader.shape_of(0)
    axis = reader.axes[0]
    for place, size in enumerate(reader.shape):
        if size == before[axis] and prod(reader.shape[:place]) == prod(before[:axis]):
            return place
    return None


def _transposed(reader: _RowReader) -> int | None:
    rank = len(reader.shape)
    order = list(reader.attribute("perm", range(rank)[::-1]))
    return order.index(reader.axes[0])


def _gathered(reader: _RowReader) -> int | None:
    x, indices = len(reader.shape_of(0)), len(reader.shape_of(1))
    axis = reader.axis(0, x)
    if len(reader.axes) == 2 or reader.axes.get(0) == axis:
        return None
    if 1 in reader.axes:
        return axis + reader.axes[1]
    return reader.axes[0] + (indices - 1 if reader.axes[0] > axis else 0)


def _gathered_by_places(reader: _RowReader) -> int | None:
    is_place = reader.axes.get(1) == len(reader.shape_of(1)) - 1
    if 0 in reader.axes or is_place or reader.attribute("batch_dims", 0):
        return None
    return reader.axes[1]


def _sliced(reader: _RowReader) -> int | None:
    """Allows slices that contain all rows from the first on."""
    axis = reader.axes[0]
    steps = reader.operands[4] if len(reader.operands) > 4 else None
    known = None if steps is None else reader.draft.array(steps)
    is_forward = known is None or int(known.min(initial=1)) > 0
    return axis if is_forward and reader.shape[axis] == reader.shape_of(0)[axis] else None


def _beside(reader: _RowReader) -> int | None:
    """Allows joining or splitting along another dimension."""
    axes = set(reader.axes.values())
    return None if len(axes) > 1 or reader.axis(0, len(reader.shape)) in axes else axes.pop()


_ELEMENTWISE = (
    "Abs Add And Cast CastLike Ceil Clip Div Equal Exp Floor Greater GreaterOrEqual Identity Less "
    "LessOrEqual Log Max Min Mod Mul Neg Not Or Pow Reciprocal Relu Round Sigmoid Sqrt Sub Sum Tanh Where Xor"
)
_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        **dict.fromkeys(_ELEMENTWISE.split(), _element_by_element),
        **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze"), _reshaped),
        **dict.fromkeys(("Concat", "Split"), _beside),
        "Gather": _gathered,
        "GatherND": _gathered_by_places,
        "Slice": _sliced,
        "Transpose": _transposed,
    }
)


def follow(
    draft: OnnxDraft,
    node: NodeProto,
    operands: Sequence[Item | None],
    results: Sequence[Item | None],
    place: NodePlace,
) -> None:
    """Records the counted rows of a node's results, or their maximal number. Raises ModelError."""
    counts = draft.counts
    if not counts.rows:
        return
    values = tuple(item if isinstance(item, Value) else None for item in operands)
    made = [item for item in results if isinstance(item, Value)]
    sized = [n for n, value in enumerate(values) if value is not None and value.name in counts.sizes]
    if sized and not set(sized) <= set(_SHAPE_OPERANDS.get(node.op_type, ())):
        if any(value.name not in draft.constants for value in made):
            raise place.fail("it computes with a number of rows that depends on the data", _CUT)
        counts.sizes.update(value.name for value in made)
    rows = {n: value for n, value in enumerate(values) if value is not None and value.name in counts.rows}
    if not rows:
        return
    if node.op_type in ("Shape", "Size"):
        counts.sizes.update(value.name for value in made)
        return
    owners = counts.owners([value.name for value in rows.values()])
    axes = {n: value.order[counts.rows[value.name].axis] for n, value in rows.items()}
    rule = _RULES.get(node.op_type)
    for value in made:
        reader = _RowReader(node, draft, values, axes, draft.shape(value))
        axis = rule(reader) if rule is not None and len(owners) == 1 else None
        if axis is None:
            raise place.fail(
                f'{node.op_type} would use all rows of "{owners[0]}" together, including those after '
                "its count",
                _CUT,
            )
        counts.add(value.name, value.order.index(axis), owners[0], counts.counts[owners[0]])
