"""MEAN: any axes next to each other become the rows or the columns of an image."""

from __future__ import annotations

from math import prod

from aot.frontend.tflite.draft import Draft, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.ops.reduce import COLUMNS, ROWS, Mean


def import_mean(draft: Draft, operator: Operator, mode: str) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    axes = read.axes(draft, operator, len(shape))
    if len(shape) == 4 and shape[0] == 1 and axes and set(axes) <= {ROWS, COLUMNS}:
        op = Mean(axes)
    else:
        shape, op = _as_image(operator, shape, axes), Mean((COLUMNS,))
    kept = tuple(1 if a in op.axes else d for a, d in enumerate(shape))
    source = read.reshaped(draft, operator, x, shape)
    read.reshaped_result(draft, operator, op, (source,), kept)


def _as_image(operator: Operator, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """[1, what comes before the axes, the axes, what comes after]."""
    if not axes:
        return (1, prod(shape), 1, 1)
    first, last = axes[0], axes[-1]
    if axes != tuple(range(first, last + 1)):
        raise operator.fail(
            f"its axes {list(axes)} must be next to each other", "split the operator into one for each axis"
        )
    return (1, prod(shape[:first]), prod(shape[first : last + 1]), prod(shape[last + 1 :]))
