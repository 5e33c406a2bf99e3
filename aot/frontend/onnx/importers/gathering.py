"""Elements selected by indices, possibly computed: every form becomes rows of a flat tensor."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import dense_strides
from aot.ops.cumulate import Cumulate
from aot.ops.gather import Gather


def counted_from_front(node: OnnxOperator, indices: Value, size: int) -> Value:
    """Converts negative indices, which count from the end."""
    known = node.draft.array(indices)
    node.require_inside(known, -size, size)
    if known is not None and int(known.min(initial=0)) >= 0:
        return indices
    nothing, whole = node.number(0, indices.element), node.number(size, indices.element)
    return node.do("Where", node.do("Less", indices, nothing), node.do("Add", indices, whole), indices)


def _gather(node: OnnxOperator) -> Value:
    x, indices = node.operand(0), node.operand(1)
    shape = node.shape(x)
    axis = node.axis(node.integer("axis", 0), len(shape))
    places = counted_from_front(node, indices, shape[axis])
    return node.value(node.apply(Gather(axis), node.plain(x), node.plain(places)), x.element)


def _gather_elements(node: OnnxOperator) -> Value:
    x, indices = node.operand(0), node.operand(1)
    shape, picked = node.shape(x), node.shape(indices)
    axis = node.axis(node.integer("axis", 0), len(shape))
    if len(picked) != len(shape) or any(
        n > size for d, (n, size) in enumerate(zip(picked, shape, strict=True)) if d != axis
    ):
        raise node.fail(f"indices {list(picked)} do not fit shape {list(shape)}")
    steps = dense_strides(shape)
    elsewhere = np.zeros(picked, np.int64)
    for dimension, size in enumerate(picked):
        if dimension != axis:
            along = [-1 if d == dimension else 1 for d in range(len(picked))]
            elsewhere = elsewhere + (np.arange(size) * steps[dimension]).reshape(along)
    places = counted_from_front(node, indices, shape[axis])
    spots = node.do("Mul", places, node.number(steps[axis], indices.element))
    return _rows(node, x, 0, node.do("Add", spots, node.number(elsewhere, indices.element)))


def _rows(node: OnnxOperator, x: Value, kept: int, places: Value) -> Value:
    """Returns rows of x, whose last `kept` dimensions form a row."""
    shape = node.shape(x)
    row = shape[len(shape) - kept :]
    flat = node.reshaped(node.plain(x), (prod(shape[: len(shape) - kept]), *row))
    return node.value(node.apply(Gather(0), flat, node.plain(places)), x.element)


def _gather_nd(node: OnnxOperator) -> Value:
    x, indices, batches = node.operand(0), node.operand(1), node.integer("batch_dims", 0)
    shape, picked = node.shape(x), node.shape(indices)
    depth = picked[-1] if picked else 0
    if not 0 <= batches < len(picked) or batches + depth > len(shape) or shape[:batches] != picked[:batches]:
        raise node.fail(f"indices {list(picked)} do not fit shape {list(shape)}")
    steps = dense_strides(shape[: batches + depth])
    base = np.zeros((1,) * (len(picked) - 1), np.int64)
    for dimension in range(batches):
        along = [-1 if d == dimension else 1 for d in range(len(picked) - 1)]
        base = base + (np.arange(shape[dimension]) * steps[dimension]).reshape(along)
    total = node.number(base, TensorProto.INT64)
    last = node.number([len(picked) - 1], TensorProto.INT64)
    for number in range(depth):
        column = sliced(node, indices, {len(picked) - 1: range(number, number + 1)})
        place = counted_from_front(node, node.do("Squeeze", column, last), shape[batches + number])
        spot = node.do("Mul", place, node.number(steps[batches + number], TensorProto.INT64))
        total = node.do("Add", total, spot)
    return _rows(node, x, len(shape) - batches - depth, total)


GATHERING: Mapping[str, Importer] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
}


# Operators on indices: triangles, one-hot rows, running sums.


def _trilu(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    if len(shape) < 2:
        raise node.fail(f"shape {list(shape)} is not a matrix")
    k = int(node.known_scalar(1, "k")) if node.has(1) else 0
    ones = np.ones(shape[-2:], np.bool_)
    kept = np.triu(ones, k) if node.integer("upper", 1) else np.tril(ones, k)
    return node.do("Where", node.number(kept, TensorProto.BOOL), x, node.number(0, x.element))


def _one_hot(node: OnnxOperator) -> Value:
    indices, values = node.operand(0), node.operand(2)
    depth = int(node.known_scalar(1, "depth"))
    rank = len(indices.order) + 1
    axis = node.axis(node.integer("axis", -1), rank)
    whole = cast(node, indices, TensorProto.INT64)
    size = node.number(depth, TensorProto.INT64)
    turned = node.do("Where", node.do("Less", whole, node.number(0, 7)), node.do("Add", whole, size), whole)
    apart = node.do("Unsqueeze", turned, node.number([axis], TensorProto.INT64))
    along = [-1 if a == axis else 1 for a in range(rank)]
    numbers = node.number(np.arange(depth).reshape(along), TensorProto.INT64)
    off, on = (sliced(node, values, {0: range(i, i + 1)}) for i in (0, 1))
    return node.do("Where", node.do("Equal", apart, numbers), on, off)


def _cum_sum(node: OnnxOperator) -> Value:
    x = node.operand(0)
    axis = node.axis(int(node.known_scalar(1, "axis")), len(x.order))
    exclusive, reverse = bool(node.integer("exclusive", 0)), bool(node.integer("reverse", 0))
    return Value(node.apply(Cumulate(x.order.index(axis), exclusive, reverse), x.name), x.order, x.element)


def _cum_prod(node: OnnxOperator) -> Value:
    """Multiplies element by element along the dimension."""
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.axis(int(node.known_scalar(1, "axis")), len(shape))
    places = list(range(shape[axis]))
    if node.integer("reverse", 0):
        places.reverse()
    made: dict[int, Value] = {}
    total = None
    exclusive = bool(node.integer("exclusive", 0))
    for place in places:
        row = sliced(node, x, {axis: range(place, place + 1)})
        if exclusive:
            made[place] = total or node.value(
                node.repeated(node.number(1, x.element).name, node.shape(row)), x.element
            )
        total = row if total is None else node.do("Mul", total, row)
        if not exclusive:
            made[place] = total
    return concatenated(node, [made[p] for p in sorted(made)], axis)


def _is_inf(node: OnnxOperator) -> Value:
    x = node.operand(0)
    signs = [s for s, a in ((1, "detect_positive"), (-1, "detect_negative")) if node.integer(a, 1)]
    if not signs:
        return node.do("Less", x, x)  # of x's shape, and always false
    found = [node.do("Equal", x, node.number(s * np.inf, x.element)) for s in signs]
    return found[0] if len(found) == 1 else node.do("Or", *found)


def _is_nan(node: OnnxOperator) -> Value:
    x = node.operand(0)
    return node.do("Not", node.do("Equal", x, x))


def _p_relu(node: OnnxOperator) -> Value:
    x, slope = node.operand(0), node.operand(1)
    return node.do("Where", node.do("Less", x, node.number(0, x.element)), node.do("Mul", x, slope), x)


INDEXING: Mapping[str, Importer] = {
    "CumProd": _cum_prod,
    "CumSum": _cum_sum,
    "IsInf": _is_inf,
    "IsNaN": _is_nan,
    "OneHot": _one_hot,
    "PRelu": _p_relu,
    "Trilu": _trilu,
}
