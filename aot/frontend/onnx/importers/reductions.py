"""Reductions over any dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast, divided
from aot.frontend.onnx.importers.moving import sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import DType, dense_strides
from aot.ops.contract import Contract
from aot.ops.mean import COLUMNS, Mean
from aot.ops.quantize import Dequantize
from aot.ops.reduce import ArgExtreme, Reduce, Reduction


def _axes(node: OnnxOperator, x: Value) -> tuple[int, ...]:
    """Returns the axes in the file's order; without any, all, unless the node then reduces nothing."""
    rank = len(x.order)
    given = node.axes(1)
    if not given:
        return () if node.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted({node.axis(a, rank) for a in given}))


def _finished(
    node: OnnxOperator, name: str, shape: tuple[int, ...], axes: tuple[int, ...], element: int
) -> Value:
    """Returns the value with this shape minus the axes."""
    kept = bool(node.integer("keepdims", 1))
    left = [1 if a in axes else s for a, s in enumerate(shape) if kept or a not in axes]
    return node.value(node.reshaped(name, left), element)


def _squares(node: OnnxOperator, x: Value, axes: tuple[int, ...]) -> str:
    """Returns sums of squares without the reduced axes."""
    shape = node.shape(x)
    strides = dense_strides(shape)
    order = [*(a for a in range(len(shape)) if a not in axes), *axes]
    steps = tuple(strides[a] for a in order)
    sizes = tuple(shape[a] for a in order)
    op = Contract(sizes[: len(sizes) - len(axes)], sizes, len(axes), steps, steps)
    name = node.plain(x)
    return node.apply(op, name, name)


def _sum_square(node: OnnxOperator) -> Value:
    x = node.operand(0)
    axes = _axes(node, x)
    if 0 in node.shape(x):
        return _of_nothing(node, x, Reduction.SUM, axes)
    return _finished(node, _squares(node, x, axes), node.shape(x), axes, x.element)


def _mean(node: OnnxOperator) -> Value:
    x = node.operand(0)
    axes = _axes(node, x)
    pixels = _mean_of_pixels(node, x, axes) or _mean_of_vectors(node, x, axes)
    if pixels is not None:
        return pixels
    count = prod(node.shape(x)[a] for a in axes)
    sums = _left(node, reduced(node, x, Reduction.SUM, axes), node.shape(x), axes)
    return divided(node, sums, count)


def _mean_of_pixels(node: OnnxOperator, x: Value, axes: tuple[int, ...]) -> Value | None:
    """Computes a mean over rows, columns or both of an image, or of a line, with one op; else None."""
    shape, rank = node.shape(x), len(x.order)
    if node.dtype(x) is not DType.F32 or shape[:1] != (1,) or rank not in (3, 4):
        return None
    order = x.order if rank == 4 else (0, 2, 1)
    if axes == tuple(range(2, rank)):
        order = (0, *axes, 1)
    along = sorted(order.index(a) for a in axes)
    if not along or order[0] != 0 or along[0] == 0 or along[-1] == rank - 1:
        return None
    if rank == 3 and not node.draft.is_stored(x, order) and not _is_dequantised(node, x):
        return None  # elements of a vector, not pixels of a line: nothing needs to move
    name = node.draft.stored(node.place, x, order)
    stored = node.draft.types[name].shape
    image = node.reshaped(name, (1,) * (4 - rank) + stored)
    made = node.apply(Mean(tuple(a + 4 - rank for a in along)), image)
    kept = [1 if a in along else s for a, s in enumerate(stored)]
    return _without(node, axes, Value(node.reshaped(made, kept), order, x.element))


def _mean_of_vectors(node: OnnxOperator, x: Value, axes: tuple[int, ...]) -> Value | None:
    """Computes a mean of integers along any dimension but the last, as pixels of a line; else None."""
    stored = node.draft.types[x.name].shape
    along = sorted(x.order.index(a) for a in axes)
    if not along or along != list(range(along[0], along[-1] + 1)) or along[-1] == len(stored) - 1:
        return None
    if not _is_dequantised(node, x):
        return None
    sizes = stored[: along[0]], stored[along[0] : along[-1] + 1], stored[along[-1] + 1 :]
    lines = node.reshaped(x.name, (1, *(prod(part) for part in sizes)))
    made = node.apply(Mean((COLUMNS,)), lines)
    kept = [1 if a in along else s for a, s in enumerate(stored)]
    return _without(node, axes, Value(node.reshaped(made, kept), x.order, x.element))


def _without(node: OnnxOperator, axes: tuple[int, ...], kept: Value) -> Value:
    """Drops the axes of a reduction whose result still has them."""
    if node.integer("keepdims", 1):
        return kept
    left = [size for axis, size in enumerate(node.shape(kept)) if axis not in axes]
    return node.value(node.reshaped(node.plain(kept), left), kept.element)


def _is_dequantised(node: OnnxOperator, x: Value) -> bool:
    """Returns whether the mean may become an integer one."""
    maker = next((n for n in reversed(node.draft.nodes) if x.name in n.outputs), None)
    return maker is not None and isinstance(maker.op, Dequantize)


def _l1(node: OnnxOperator) -> Value:
    x, axes = node.operand(0), _axes(node, node.operand(0))
    if 0 in node.shape(x):
        return _of_nothing(node, x, Reduction.SUM, axes)
    return _left(node, reduced(node, node.do("Abs", x), Reduction.SUM, axes), node.shape(x), axes)


def _l2(node: OnnxOperator) -> Value:
    sums = _sum_square(node)
    if node.dtype(sums) is DType.F32:
        return node.do("Sqrt", sums)
    return cast(node, node.do("Sqrt", cast(node, sums, TensorProto.FLOAT)), sums.element)


def _log_sum(node: OnnxOperator) -> Value:
    return node.do("Log", _reduced_by(node, Reduction.SUM))


def _log_sum_exp(node: OnnxOperator) -> Value:
    """Subtracts the largest element, so that no exponential overflows."""
    x = node.operand(0)
    axes = _axes(node, x)
    if 0 in node.shape(x):
        return node.do("Log", _of_nothing(node, x, Reduction.SUM, axes))
    largest = reduced(node, x, Reduction.MAXIMUM, axes)
    finite = node.do("Where", node.do("IsInf", largest), node.number(0, x.element), largest)
    powers = node.do("Exp", node.do("Sub", x, finite))
    logs = node.do("Log", reduced(node, powers, Reduction.SUM, axes))
    return _left(node, node.do("Add", logs, finite), node.shape(x), axes)


def reduced(node: OnnxOperator, x: Value, by: Reduction, axes: tuple[int, ...]) -> Value:
    """Reduces; the axes remain with size 1, in the order in which x is stored."""
    if not axes:
        return x
    stored = tuple(sorted(x.order.index(a) for a in axes))
    return Value(node.apply(Reduce(by, stored), x.name), x.order, x.element)


def _reduction(by: Reduction, of_bool: Reduction | None = None) -> Importer:
    def import_it(node: OnnxOperator) -> Value:
        is_bool = of_bool is not None and node.operand(0).element == TensorProto.BOOL
        return _reduced_by(node, of_bool if is_bool and of_bool is not None else by)

    return import_it


def _reduced_by(node: OnnxOperator, by: Reduction) -> Value:
    x = node.operand(0)
    shape, axes = node.shape(x), _axes(node, x)
    if 0 in shape:
        return _of_nothing(node, x, by, axes)
    return _left(node, reduced(node, x, by, axes), shape, axes)


def _left(node: OnnxOperator, kept: Value, shape: tuple[int, ...], axes: tuple[int, ...]) -> Value:
    """Returns a reduction with kept axes in the shape that the node needs."""
    if node.integer("keepdims", 1) or not axes:
        return kept
    left = [s for a, s in enumerate(shape) if a not in axes]
    return node.value(node.reshaped(node.plain(kept), left), kept.element)


def _of_nothing(node: OnnxOperator, x: Value, by: Reduction, axes: tuple[int, ...]) -> Value:
    """Returns the result of a reduction without elements."""
    shape = node.shape(x)
    kept = [1 if a in axes else s for a, s in enumerate(shape)]
    least, most = extremes_of(node, x)
    neutral = {Reduction.PRODUCT: 1, Reduction.MAXIMUM: least, Reduction.MINIMUM: most, Reduction.ALL: 1}.get(
        by, 0
    )
    return _left(node, node.number(np.full(kept, neutral), x.element), shape, axes)


def extremes_of(node: OnnxOperator, x: Value) -> tuple[float, float]:
    """Returns the smallest and the largest number of its element type."""
    dtype = node.dtype(x)
    return (-np.inf, np.inf) if dtype is DType.F32 else dtype.limits if dtype.is_integer else (0, 1)


def _arg(by: Reduction) -> Importer:
    """Imports the first (or last) position of an extreme."""

    def import_it(node: OnnxOperator) -> Value:
        x = node.operand(0)
        shape = node.shape(x)
        axis = node.axis(node.integer("axis", 0), len(shape))
        last = bool(node.integer("select_last_index", 0))
        along = sliced(node, x, {axis: range(shape[axis] - 1, -1, -1)}) if last else x
        place = ArgExtreme(by, along.order.index(axis), DType.I64)
        found = Value(node.apply(place, along.name), along.order, TensorProto.INT64)
        if last:
            found = node.do("Sub", node.number(shape[axis] - 1, TensorProto.INT64), found)
        return _left(node, found, shape, (axis,))

    return import_it


def _hardmax(node: OnnxOperator) -> Value:
    """Returns 1 at the first maximum, 0 elsewhere; before set 13 over all dimensions from the axis on."""
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.axis(node.integer("axis", -1 if node.version >= 13 else 1), len(shape))
    flat = x
    if node.version < 13:
        flat = node.value(node.reshaped(node.plain(x), (prod(shape[:axis]), prod(shape[axis:]))), x.element)
        axis = 1
    chosen = node.do("ArgMax", flat, axis=axis, keepdims=1)
    along = [-1 if a == axis else 1 for a in range(len(node.shape(flat)))]
    numbers = node.number(np.arange(node.shape(flat)[axis]).reshape(along), TensorProto.INT64)
    made = cast(node, node.do("Equal", chosen, numbers), x.element)
    return node.value(node.reshaped(node.plain(made), shape), x.element)


REDUCTIONS: Mapping[str, Importer] = {
    "ArgMax": _arg(Reduction.MAXIMUM),
    "ArgMin": _arg(Reduction.MINIMUM),
    "Hardmax": _hardmax,
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _reduction(Reduction.MAXIMUM, Reduction.ANY),
    "ReduceMean": _mean,
    "ReduceMin": _reduction(Reduction.MINIMUM, Reduction.ALL),
    "ReduceProd": _reduction(Reduction.PRODUCT),
    "ReduceSum": _reduction(Reduction.SUM),
    "ReduceSumSquare": _sum_square,
}
