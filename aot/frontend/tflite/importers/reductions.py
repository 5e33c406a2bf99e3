"""Operators that reduce: MEAN, SUM and related ones, positions of extremes, running sums."""

from __future__ import annotations

from functools import partial
from math import prod

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import rearrange
from aot.ir.strides import dense_strides
from aot.ops.cumulate import Cumulate
from aot.ops.mean import COLUMNS, ROWS, Mean
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Loops
from aot.ops.reduce import ArgExtreme, Reduce, Reduction
from aot.ops.reshape import Reshape


def _import_mean(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports MEAN: adjacent axes become rows or columns of an image; others are first moved to the end."""
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    axes = read.axes(draft, operator, len(shape))
    if prod(shape[axis] for axis in axes) == 1:
        _requantise(draft, operator, x)
        return
    if axes and axes != tuple(range(axes[0], axes[-1] + 1)):
        x, shape, axes = _moved_last(draft, operator, x, axes)
    if len(shape) == 4 and shape[0] == 1 and axes and set(axes) <= {ROWS, COLUMNS}:
        op = Mean(axes)
    else:
        shape, op = _as_image(shape, axes), Mean((COLUMNS,))
    kept = tuple(1 if a in op.axes else d for a, d in enumerate(shape))
    source = read.reshaped(draft, operator, x, shape)
    read.reshaped_result(draft, operator, op, (source,), kept)


def _requantise(draft: TfliteDraft, operator: TfliteOperator, x: str) -> None:
    """Requantizes: the mean of one element is that element."""
    output = read.the_output(operator)
    declared = draft.types[output]
    if draft.types[x].quant == declared.quant:
        draft.add_node(operator, Reshape(declared.shape), (x,), output)
    else:
        source = read.reshaped(draft, operator, x, declared.shape)
        draft.add_node(operator, Quantize(declared.dtype), (source,), output)


def _moved_last(
    draft: TfliteDraft, operator: TfliteOperator, x: str, axes: tuple[int, ...]
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    stored = draft.types[x]
    order = [a for a in range(stored.rank) if a not in axes] + list(axes)
    strides = dense_strides(stored.shape)
    shape = tuple(stored.shape[a] for a in order)
    moved = read.value_like(draft, f"{x}/moved", stored, shape)
    rearrange(draft, operator, x, Loops(shape, tuple(strides[a] for a in order)), moved)
    return moved, shape, tuple(range(len(shape) - len(axes), len(shape)))


def _as_image(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns [1, size before the axes, size of the axes, size after]."""
    if not axes:
        return (1, prod(shape), 1, 1)
    first, last = axes[0], axes[-1]
    return (1, prod(shape[:first]), prod(shape[first : last + 1]), prod(shape[last + 1 :]))


def _import_reduce(draft: TfliteDraft, operator: TfliteOperator, by: Reduction) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    op = Reduce(by, read.axes(draft, operator, len(shape)))
    kept = tuple(1 if a in op.axes else d for a, d in enumerate(shape))
    read.reshaped_result(draft, operator, op, (x,), kept)


def _import_place(draft: TfliteDraft, operator: TfliteOperator, by: Reduction) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    axis = read.axis(operator, read.integers(draft, operator, 1, "axis")[0], len(shape))
    op = ArgExtreme(by, axis, draft.types[read.the_output(operator)].dtype)
    read.reshaped_result(draft, operator, op, (x,), (*shape[:axis], 1, *shape[axis + 1 :]))


def _import_cumsum(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.CumsumOptions)
    x = read.operand(operator, 0, "the data")
    axis = read.axis(operator, read.integers(draft, operator, 1, "axis")[0], draft.types[x].rank)
    op = Cumulate(axis, bool(options.Exclusive()), bool(options.Reverse()))
    draft.add_node(operator, op, (x,), read.the_output(operator))


_REDUCTIONS = {
    "REDUCE_ALL": Reduction.ALL,
    "REDUCE_ANY": Reduction.ANY,
    "REDUCE_MAX": Reduction.MAXIMUM,
    "REDUCE_MIN": Reduction.MINIMUM,
    "REDUCE_PROD": Reduction.PRODUCT,
    "SUM": Reduction.SUM,
}
REDUCTIONS: dict[str, Importer] = {
    **{code: partial(_import_reduce, by=by) for code, by in _REDUCTIONS.items()},
    "ARG_MAX": partial(_import_place, by=Reduction.MAXIMUM),
    "ARG_MIN": partial(_import_place, by=Reduction.MINIMUM),
    "CUMSUM": _import_cumsum,
    "MEAN": _import_mean,
}
