"""Operators that reduce: MEAN, SUM and related ones, positions of extremes, running sums."""

from __future__ import annotations

from functools import partial
from math import prod

import tflite

from aot.frontend.tflite.importers.rearranging import rearrange
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import dense_strides
from aot.ops.cumulate import Cumulate
from aot.ops.mean import COLUMNS, ROWS, Mean
from aot.ops.quantize import Quantize
from aot.ops.rearrange import Loops
from aot.ops.reduce import ArgExtreme, Reduce, Reduction
from aot.ops.reshape import Reshape


def _import_mean(node: TfliteOperator) -> None:
    """Imports MEAN: adjacent axes become rows or columns of an image; others are first moved to the end."""
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    axes = node.axes(len(shape))
    if prod(shape[axis] for axis in axes) == 1:
        _requantise(node, x)
        return
    if axes and axes != tuple(range(axes[0], axes[-1] + 1)):
        x, shape, axes = _moved_last(node, x, axes)
    if len(shape) == 4 and shape[0] == 1 and axes and set(axes) <= {ROWS, COLUMNS}:
        op = Mean(axes)
    else:
        shape, op = _as_image(shape, axes), Mean((COLUMNS,))
    kept = tuple(1 if a in op.axes else d for a, d in enumerate(shape))
    source = node.reshaped(x, shape)
    node.reshaped_result(op, (source,), kept)


def _requantise(node: TfliteOperator, x: str) -> None:
    """Requantizes: the mean of one element is that element."""
    output = node.the_output
    declared = node.tensor(output)
    if node.tensor(x).quant == declared.quant:
        node.add_node(Reshape(declared.shape), (x,), output)
    else:
        source = node.reshaped(x, declared.shape)
        node.add_node(Quantize(declared.dtype), (source,), output)


def _moved_last(
    node: TfliteOperator, x: str, axes: tuple[int, ...]
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    stored = node.tensor(x)
    order = [a for a in range(stored.rank) if a not in axes] + list(axes)
    strides = dense_strides(stored.shape)
    shape = tuple(stored.shape[a] for a in order)
    moved = node.value_like(f"{x}/moved", stored, shape)
    rearrange(node, x, Loops(shape, tuple(strides[a] for a in order)), moved)
    return moved, shape, tuple(range(len(shape) - len(axes), len(shape)))


def _as_image(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns [1, size before the axes, size of the axes, size after]."""
    if not axes:
        return (1, prod(shape), 1, 1)
    first, last = axes[0], axes[-1]
    return (1, prod(shape[:first]), prod(shape[first : last + 1]), prod(shape[last + 1 :]))


def _import_reduce(node: TfliteOperator, by: Reduction) -> None:
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    op = Reduce(by, node.axes(len(shape)))
    kept = tuple(1 if a in op.axes else d for a, d in enumerate(shape))
    node.reshaped_result(op, (x,), kept)


def _import_place(node: TfliteOperator, by: Reduction) -> None:
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    axis = node.axis(node.integers(1, "axis")[0], len(shape))
    op = ArgExtreme(by, axis, node.tensor(node.the_output).dtype)
    node.reshaped_result(op, (x,), (*shape[:axis], 1, *shape[axis + 1 :]))


def _import_cumsum(node: TfliteOperator) -> None:
    options = node.options(tflite.CumsumOptions)
    x = node.operand(0, "the data")
    axis = node.axis(node.integers(1, "axis")[0], node.tensor(x).rank)
    op = Cumulate(axis, bool(options.Exclusive()), bool(options.Reverse()))
    node.add_node(op, (x,), node.the_output)


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
