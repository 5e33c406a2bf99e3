"""Elements selected by indices, possibly computed: every form becomes rows of a flat tensor."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import dense_strides
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
