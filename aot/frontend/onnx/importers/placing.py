"""Scatters elements to positions computed in the run.

Whole rows are written one by one, as caches need it. Otherwise each position is compared with each update's.
"""

from __future__ import annotations

from math import prod

import numpy as np

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import OnnxOperator
from aot.ir.graph import Node
from aot.ir.strides import dense_strides
from aot.ir.types import Array, DType
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.write_rows import WriteRows

REDUCTIONS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
MAX_UPDATES = 64  # each is compared with the whole dimension


def scatter_elements(node: OnnxOperator, axis: int) -> Value:
    """Imports ScatterElements; indices that do not cover other dimensions are filled with invalid ones."""
    x, indices, parts = (node.operand(position) for position in range(3))
    shape, sizes = node.shape(x), node.shape(indices)
    places = _of_rows(node, indices, axis)
    if _replaces(node) and places is not None and _with_size(shape, axis, sizes[axis]) == sizes:
        return _written(node, x, parts, places, axis)
    indices = _counted(node, indices, shape[axis])
    for dimension, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if dimension != axis and size < whole:
            indices = _filled(node, indices, dimension, whole - size, shape[axis])
            parts = _filled(node, parts, dimension, whole - size, 0)
    return placed(node, x, parts, indices, axis)


def scatter_nd(node: OnnxOperator, depth: int) -> Value:
    """Imports ScatterND; the first dimensions are flattened to one number per position."""
    x, indices, parts = (node.operand(position) for position in range(3))
    shape, count = node.shape(x), prod(node.shape(indices)[:-1])
    if _replaces(node) and depth == 1:
        rows = parts if len(parts.order) == len(shape) else _as(node, parts, (count, *shape[1:]))
        return _written(node, x, rows, indices, 0)
    rest = prod(shape[depth:])
    numbers = [
        node.do("Mul", _counted(node, part, size), node.number(step // rest, part.element))
        for number, (size, step) in enumerate(zip(shape[:depth], dense_strides(shape), strict=False))
        for part in [sliced(node, indices, {len(indices.order) - 1: range(number, number + 1)})]
    ]
    places = numbers[0]
    for number in numbers[1:]:
        places = node.do("Add", places, number)
    flat = [_as(node, x, (prod(shape[:depth]), rest)), _as(node, parts, (count, rest))]
    if _replaces(node):
        return _as(node, _written(node, flat[0], flat[1], places, 0), shape)
    return _as(node, placed(node, flat[0], flat[1], _as(node, places, (count, 1)), 0), shape)


def tensor_scatter(node: OnnxOperator, axis: int, is_circular: bool) -> Value:
    """Imports TensorScatter, with a start position per batch."""
    x, parts, begins = (node.operand(position) for position in range(3))
    along = [-1 if dimension == axis else 1 for dimension in range(len(x.order))]
    steps = np.arange(node.shape(parts)[axis]).reshape(along)
    first = _as(node, begins, (node.shape(x)[0], *(1,) * (len(x.order) - 1)))
    places = node.do("Add", first, node.number(steps, begins.element))
    if is_circular:
        places = node.do("Mod", places, node.number(node.shape(x)[axis], begins.element))
    if node.shape(x)[0] == 1:
        return _written(node, x, parts, places, axis)
    return placed(node, x, parts, places, axis)


def _replaces(node: OnnxOperator) -> bool:
    return node.text("reduction", "none") == "none"


def _written(node: OnnxOperator, x: Value, rows: Value, places: Value, axis: int) -> Value:
    """Writes the rows along the axis, in the order in which x is stored."""
    numbers = _as(node, places, (node.shape(rows)[axis],))
    op = WriteRows(x.order.index(axis))
    made = node.apply(op, x.name, node.draft.stored(node.place, rows, x.order), numbers.name)
    return Value(made, x.order, x.element)


def _of_rows(node: OnnxOperator, indices: Value, axis: int) -> Value | None:
    """Returns the index of each row if indices are repeated for all its elements, else None."""
    name, moves = indices.name, list[Node]()
    makers = {made: maker for maker in node.draft.nodes for made in maker.outputs}
    while name in makers and isinstance(makers[name].op, Reshape | Rearrange):
        moves.insert(0, makers[name])
        (name,) = makers[name].reads
    types = node.draft.types
    sources: Array = np.arange(types[name].elements).reshape(types[name].shape)
    for move in moves:
        read, made = node.draft.types_of(move.inputs), (types[move.outputs[0]],)
        (sources,) = move.op.reference([sources], read, made)
    by_axis = sources.transpose([indices.order.index(d) for d in range(len(indices.order))])
    rows = np.moveaxis(by_axis, axis, 0).reshape(by_axis.shape[axis], -1)
    if (rows != rows[:, :1]).any():
        return None
    return sliced(node, indices, {d: range(1) for d in range(len(indices.order)) if d != axis})


def _with_size(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def placed(node: OnnxOperator, x: Value, parts: Value, places: Value, axis: int) -> Value:
    """Writes each part to its position along the axis, one after the other; ignores invalid positions."""
    count, size = node.shape(parts)[axis], node.shape(x)[axis]
    if count > MAX_UPDATES:
        node.known_value(
            places, f"indices of {count} updates (up to {MAX_UPDATES} may be computed by the model)"
        )
    reduction = node.text("reduction", "none")
    along = [-1 if dimension == axis else 1 for dimension in range(len(x.order))]
    numbers = node.number(np.arange(size).reshape(along), places.element)
    total = x
    for turn in range(count):
        here = {axis: range(turn, turn + 1)}
        is_there = node.do("Equal", numbers, sliced(node, places, here))
        part = sliced(node, parts, here)
        if reduction == "none":
            total = node.do("Where", is_there, part, total)
        else:
            neutral = node.number(neutral_of(node, x, reduction), x.element)
            total = node.do(REDUCTIONS[reduction], total, node.do("Where", is_there, part, neutral))
    return total


def neutral_of(node: OnnxOperator, x: Value, reduction: str) -> float:
    """Returns the number that does not change a reduction's result."""
    if reduction not in REDUCTIONS:
        raise node.fail(f'reduction "{reduction}" is not known')
    if reduction in ("add", "mul"):
        return 0 if reduction == "add" else 1
    dtype = node.dtype(x)
    low, high = (-np.inf, np.inf) if dtype is DType.F32 else dtype.limits
    return low if reduction == "max" else high


def _counted(node: OnnxOperator, indices: Value, size: int) -> Value:
    """Converts negative indices, which count from the end."""
    is_behind = node.do("Less", indices, node.number(0, indices.element))
    moved = node.do("Add", indices, node.number(size, indices.element))
    return node.do("Where", is_behind, moved, indices)


def _filled(node: OnnxOperator, x: Value, axis: int, count: int, number: int) -> Value:
    sizes = [count if dimension == axis else size for dimension, size in enumerate(node.shape(x))]
    return concatenated(node, [x, node.number(np.full(sizes, number), x.element)], axis)


def _as(node: OnnxOperator, x: Value, shape: tuple[int, ...]) -> Value:
    return node.value(node.reshaped(node.plain(x), shape), x.element)
