"""Reductions over any dimensions: sums of products, or halves combined with halves until one is left."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, Operator
from aot.frontend.onnx.strides import dense_strides
from aot.ir.types import DType
from aot.ops.binary import Mul
from aot.ops.combine import Combination, Combine
from aot.ops.contract import Contract
from aot.ops.op import Op
from aot.ops.reduce import Mean


def _axes(node: Operator, x: Value) -> tuple[int, ...]:
    """In the file's order; without any, all, unless the node says that none means none."""
    rank = len(x.order)
    given = node.axes(1)
    if not given:
        return () if node.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted({node.axis(a, rank) for a in given}))


def _finished(
    node: Operator, name: str, shape: tuple[int, ...], axes: tuple[int, ...], element: int
) -> Value:
    """The name holds what is left of the shape without the axes."""
    kept = bool(node.integer("keepdims", 1))
    left = [1 if a in axes else s for a, s in enumerate(shape) if kept or a not in axes]
    return node.value(node.reshaped(name, left), element)


def summed(node: Operator, x: Value, other: Value | None, axes: tuple[int, ...]) -> str:
    """Sums of x, or of its products with another of its shape; the axes are gone."""
    shape = node.shape(x)
    strides = dense_strides(shape)
    order = [*(a for a in range(len(shape)) if a not in axes), *axes]
    steps = tuple(strides[a] for a in order)
    sizes = tuple(shape[a] for a in order)
    if other is None:
        second, steps2 = node.number(1, x.element), (0,) * len(order)
    else:
        second, steps2 = other, steps
    op = Contract(sizes[: len(sizes) - len(axes)], sizes, len(axes), steps, steps2)
    return node.apply(op, node.plain(x), node.plain(second))


def _sum(node: Operator) -> Value:
    x = node.operand(0)
    return _finished(node, summed(node, x, None, _axes(node, x)), node.shape(x), _axes(node, x), x.element)


def _sum_square(node: Operator) -> Value:
    x = node.operand(0)
    return _finished(node, summed(node, x, x, _axes(node, x)), node.shape(x), _axes(node, x), x.element)


def _mean(node: Operator) -> Value:
    x = node.operand(0)
    axes = _axes(node, x)
    pixels = _mean_of_pixels(node, x, axes)
    if pixels is not None:
        return pixels
    count = prod(node.shape(x)[a] for a in axes)
    sums = _sum(node)
    if node.dtype(x) is not DType.F32:
        return node.do("Div", sums, node.number(count, x.element))
    return node.do("Mul", sums, node.number(1 / count, x.element))


def _mean_of_pixels(node: Operator, x: Value, axes: tuple[int, ...]) -> Value | None:
    """Over rows, columns or both of an image, a line's elements too, by an op of its own."""
    shape, rank = node.shape(x), len(x.order)
    if node.dtype(x) is not DType.F32 or shape[:1] != (1,) or rank not in (3, 4):
        return None
    order = x.order if rank == 4 else (0, 2, 1)
    if axes == tuple(range(2, rank)):
        order = (0, *axes, 1)
    along = sorted(order.index(a) for a in axes)
    if not along or order[0] != 0 or along[0] == 0 or along[-1] == rank - 1:
        return None
    name = node.draft.stored(node.place, x, order)
    stored = node.draft.types[name].shape
    image = node.reshaped(name, (1,) * (4 - rank) + stored)
    made = node.apply(Mean(tuple(a + 4 - rank for a in along)), image)
    left = Value(
        node.reshaped(made, [1 if a in along else s for a, s in enumerate(stored)]), order, x.element
    )
    if node.integer("keepdims", 1):
        return left
    return node.value(
        node.reshaped(node.plain(left), [s for a, s in enumerate(shape) if a not in axes]), x.element
    )


def _l1(node: Operator) -> Value:
    x = node.do("Abs", node.operand(0))
    return _finished(node, summed(node, x, None, _axes(node, x)), node.shape(x), _axes(node, x), x.element)


def _l2(node: Operator) -> Value:
    sums = _sum_square(node)
    if node.dtype(sums) is DType.F32:
        return node.do("Sqrt", sums)
    return cast(node, node.do("Sqrt", cast(node, sums, TensorProto.FLOAT)), sums.element)


def _log_sum(node: Operator) -> Value:
    return node.do("Log", _sum(node))


def _log_sum_exp(node: Operator) -> Value:
    """Counted from the largest, so that no exponential is too large."""
    x = node.operand(0)
    axes = _axes(node, x)
    places = node.number(list(axes), TensorProto.INT64)
    largest = node.do("ReduceMax", x, places, keepdims=1) if axes else x
    finite = node.do("Where", node.do("IsInf", largest), node.number(0, x.element), largest)
    powers = node.do("Exp", node.do("Sub", x, finite))
    logs = node.do("Log", node.value(summed(node, powers, None, axes), x.element))
    whole = node.value(node.reshaped(node.plain(logs), node.shape(largest)), x.element)
    total = node.do("Add", whole, finite)
    left = tuple(s for a, s in enumerate(node.shape(x)) if a not in axes)
    return _finished(node, node.reshaped(node.plain(total), left), node.shape(x), axes, x.element)


def _folded(op: Op) -> Importer:
    def import_it(node: Operator) -> Value:
        x = node.operand(0)
        is_bool = x.element == TensorProto.BOOL
        found = cast(node, x, TensorProto.UINT8) if is_bool else x
        shape, axes = node.shape(x), _axes(node, x)
        for axis in axes:
            found = halved(node, found, axis, op)
        name = node.plain(cast(node, found, x.element) if is_bool else found)
        return _finished(node, name, shape, axes, x.element)

    return import_it


def halved(node: Operator, x: Value, axis: int, op: Op) -> Value:
    """The second half is combined with the first until one element is left."""
    length = node.shape(x)[axis]
    while length > 1:
        half = length // 2
        first = sliced(node, x, {axis: range(half)})
        second = sliced(node, x, {axis: range(half, 2 * half)})
        made = Value(node.apply(op, first.name, second.name), x.order, x.element)
        if length % 2:
            rest = sliced(node, x, {axis: range(2 * half, length)})
            row = sliced(node, made, {axis: range(1)})
            joined = Value(node.apply(op, row.name, rest.name), x.order, x.element)
            if half == 1:
                return joined
            made = concatenated(node, [joined, sliced(node, made, {axis: range(1, half)})], axis)
        x, length = made, half
    return x


def _arg(largest: bool) -> Importer:
    """The first (or the last) place where the extreme is."""

    def import_it(node: Operator) -> Value:
        x = node.operand(0)
        shape = node.shape(x)
        axis = node.axis(node.integer("axis", 0), len(shape))
        places = node.number([axis], TensorProto.INT64)
        extreme = node.do("ReduceMax" if largest else "ReduceMin", x, places, keepdims=1)
        along = [-1 if a == axis else 1 for a in range(len(shape))]
        numbers = node.number(np.arange(shape[axis]).reshape(along), TensorProto.INT64)
        last = bool(node.integer("select_last_index", 0))
        none = node.number(-1 if last else shape[axis], TensorProto.INT64)
        found = node.do("Where", node.do("Equal", x, extreme), numbers, none)
        kept = node.integer("keepdims", 1)
        return node.do("ReduceMax" if last else "ReduceMin", found, places, keepdims=kept)

    return import_it


def _hardmax(node: Operator) -> Value:
    """1 at the first of the largest, 0 elsewhere; before set 13 over all dimensions from the axis on."""
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
    "ArgMax": _arg(True),
    "ArgMin": _arg(False),
    "Hardmax": _hardmax,
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _folded(Combine(Combination.MAXIMUM)),
    "ReduceMean": _mean,
    "ReduceMin": _folded(Combine(Combination.MINIMUM)),
    "ReduceProd": _folded(Mul()),
    "ReduceSum": _sum,
    "ReduceSumSquare": _sum_square,
}
