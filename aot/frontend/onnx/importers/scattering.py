"""Scatters elements to positions known at compile time, or computed in the run.

At known positions, each result is selected from the old and new elements. To computed ones, whole rows are
written one by one, as caches need it; other elements compare their position with each update's.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.graph import Node
from aot.ir.types import Array, DType, dense_strides
from aot.ops.gather import Gather
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.write_rows import WriteRows

Places = npt.NDArray[np.int64]
_REDUCTIONS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
_MAX_UPDATES = 64  # each is compared with the whole dimension


def _scatter_elements(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.axis(node.integer("axis", 0), len(shape))
    sizes = node.shape(node.operand(1))
    if (
        len(sizes) != len(shape)
        or sizes != node.shape(node.operand(2))
        or any(n > size for d, (n, size) in enumerate(zip(sizes, shape, strict=True)) if d != axis)
    ):
        raise node.fail(f"indices {list(sizes)} do not fit shape {list(shape)}")
    if _is_computed(node, 1):
        return _scatter_elements_computed(node, axis)
    indices = _indices(node, 1)
    places = _from_start(node, indices, shape[axis]) * dense_strides(shape)[axis]
    for dimension, (size, step) in enumerate(zip(indices.shape, dense_strides(shape), strict=True)):
        if dimension != axis:
            along = [-1 if d == dimension else 1 for d in range(len(shape))]
            places = places + (np.arange(size) * step).reshape(along)
    return put(node, x, node.operand(2), places, node.text("reduction", "none"))


def _scatter_nd(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape, sizes = node.shape(x), node.shape(node.operand(1))
    depth = sizes[-1] if sizes else 0
    if not 0 < depth <= len(shape) or node.shape(node.operand(2)) != (*sizes[:-1], *shape[depth:]):
        raise node.fail(f"indices {list(sizes)} do not fit shape {list(shape)}")
    if _is_computed(node, 1):
        return _scatter_nd_computed(node, depth)
    indices = _indices(node, 1)
    steps = np.array(dense_strides(shape)[:depth])
    begins = np.zeros(indices.shape[:-1], np.int64)
    for number in range(depth):
        begins = begins + _from_start(node, indices[..., number], shape[number]) * steps[number]
    places = begins[..., np.newaxis] + np.arange(prod(shape[depth:]))
    return put(node, x, node.operand(2), places, node.text("reduction", "none"))


def _tensor_scatter(node: OnnxOperator) -> Value:
    """Updates a cache along one dimension, from a start position per batch."""
    x, part = node.operand(0), node.operand(1)
    shape, sizes = node.shape(x), node.shape(part)
    axis = node.axis(node.integer("axis", -2), len(shape))
    given = node.shape(node.operand(2)) if node.has(2) else shape[:1]
    if len(sizes) != len(shape) or given != (shape[0],) or axis == 0:
        raise node.fail(f"updates {list(sizes)} do not fit shape {list(shape)}")
    is_circular = node.text("mode", "linear") == "circular"
    if _is_computed(node, 2):
        return _tensor_scatter_computed(node, axis, is_circular)
    begins = _indices(node, 2) if node.has(2) else np.zeros(shape[0], np.int64)
    node.require_inside(begins, 0, shape[axis])
    at = list(np.indices(sizes))
    at[axis] = at[axis] + begins.reshape(-1, *(1,) * (len(shape) - 1))
    if is_circular:
        at[axis] = at[axis] % shape[axis]
    if at[axis].max(initial=0) >= shape[axis]:
        raise node.fail(f"updates up to {at[axis].max()} do not fit {shape[axis]}")
    return put(node, x, part, np.ravel_multi_index(at, shape), "none")


def _col2im(node: OnnxOperator) -> Value:
    """Sums the columns that overlap each pixel."""
    x = node.operand(0)
    image, block = node.known_integers(1, "image shape"), node.known_integers(2, "block shape")
    count = len(image)
    pads, strides = node.integers("pads", (0,) * 2 * count), node.integers("strides", (1,) * count)
    dilations = node.integers("dilations", (1,) * count)
    n, columns, length = node.shape(x)
    channels = columns // prod(block)
    whole = [i + pads[d] + pads[count + d] for d, i in enumerate(image)]
    spots = [(whole[d] - (block[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(count)]
    if prod(spots) != length or channels * prod(block) != columns:
        raise node.fail(f"columns of shape {list(node.shape(x))} do not fit an image {list(image)}")
    axes = np.indices((n, channels, *block, *spots))
    at = [axes[2 + count + d] * strides[d] + axes[2 + d] * dilations[d] - pads[d] for d in range(count)]
    inside = np.all([(a >= 0) & (a < size) for a, size in zip(at, image, strict=True)], axis=0)
    clipped = [np.clip(a, 0, size - 1) for a, size in zip(at, image, strict=True)]
    places = np.ravel_multi_index((axes[0], axes[1], *clipped), (n, channels, *image))
    nothing = node.number(np.zeros((n, channels, *image)), x.element)
    return put(node, nothing, x, np.where(inside, places, -1), "add")


def _is_computed(node: OnnxOperator, position: int) -> bool:
    return node.has(position) and node.draft.array(node.operand(position)) is None


def _indices(node: OnnxOperator, position: int) -> Places:
    return node.known(position, "indices").astype(np.int64)


def _from_start(node: OnnxOperator, indices: Places, size: int) -> Places:
    """Converts negative indices, which count from the end."""
    node.require_inside(indices, -size, size)
    return np.where(indices < 0, indices + size, indices)


def put(node: OnnxOperator, x: Value, parts: Value, places: Places, reduction: str) -> Value:
    """Puts each part at its position in the flat x (none if below 0); the last one wins, or all combine."""
    shape, flat = node.shape(x), places.reshape(-1)
    total, source = _reshaped(node, x, (prod(shape),)), _reshaped(node, parts, (prod(node.shape(parts)),))
    if reduction == "none":
        chosen = np.arange(prod(shape))
        chosen[flat[flat >= 0]] = np.nonzero(flat >= 0)[0] + prod(shape)
        return _picked(node, concatenated(node, [total, source], 0), chosen, shape)
    neutral = node.number(np.array([_neutral(node, x, reduction)]), x.element)
    choices = concatenated(node, [source, neutral], 0)
    for turn in _turns(flat, prod(shape)):
        total = node.do(_REDUCTIONS[reduction], total, _picked(node, choices, turn, (prod(shape),)))
    return _reshaped(node, total, shape)


def _turns(places: Places, size: int) -> list[Places]:
    """Returns the first part put at each element, then the second, ...; the neutral one by default."""
    turns: list[Places] = []
    counts = np.zeros(size, np.int64)
    for part, place in enumerate(places.tolist()):
        if place < 0:
            continue
        turn = int(counts[place])
        counts[place] += 1
        if turn == len(turns):
            turns.append(np.full(size, len(places)))
        turns[turn][place] = part
    return turns


def _picked(node: OnnxOperator, flat: Value, chosen: Places, shape: tuple[int, ...]) -> Value:
    indices = node.number(chosen.reshape(shape), 6)
    return node.value(node.apply(Gather(0), flat.name, indices.name), flat.element)


# Positions that are computed in the run


def _scatter_elements_computed(node: OnnxOperator, axis: int) -> Value:
    """Imports ScatterElements; indices that do not cover other dimensions are filled with invalid ones."""
    x, indices, parts = (node.operand(position) for position in range(3))
    shape, sizes = node.shape(x), node.shape(indices)
    places = _row_indices(node, indices, axis)
    if _replaces(node) and places is not None and _with_size(shape, axis, sizes[axis]) == sizes:
        return _write_rows(node, x, parts, places, axis)
    indices = _computed_from_start(node, indices, shape[axis])
    for dimension, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if dimension != axis and size < whole:
            indices = _extended(node, indices, dimension, whole - size, shape[axis])
            parts = _extended(node, parts, dimension, whole - size, 0)
    return _put_computed(node, x, parts, indices, axis)


def _scatter_nd_computed(node: OnnxOperator, depth: int) -> Value:
    """Imports ScatterND; the first dimensions are flattened to one number per position."""
    x, indices, parts = (node.operand(position) for position in range(3))
    shape, count = node.shape(x), prod(node.shape(indices)[:-1])
    if _replaces(node) and depth == 1:
        rows = parts if len(parts.order) == len(shape) else _reshaped(node, parts, (count, *shape[1:]))
        return _write_rows(node, x, rows, indices, 0)
    rest = prod(shape[depth:])
    numbers = [
        node.do("Mul", _computed_from_start(node, part, size), node.number(step // rest, part.element))
        for number, (size, step) in enumerate(zip(shape[:depth], dense_strides(shape), strict=False))
        for part in [sliced(node, indices, {len(indices.order) - 1: range(number, number + 1)})]
    ]
    places = numbers[0]
    for number in numbers[1:]:
        places = node.do("Add", places, number)
    flat = [_reshaped(node, x, (prod(shape[:depth]), rest)), _reshaped(node, parts, (count, rest))]
    if _replaces(node):
        return _reshaped(node, _write_rows(node, flat[0], flat[1], places, 0), shape)
    return _reshaped(
        node, _put_computed(node, flat[0], flat[1], _reshaped(node, places, (count, 1)), 0), shape
    )


def _tensor_scatter_computed(node: OnnxOperator, axis: int, is_circular: bool) -> Value:
    """Imports TensorScatter, with a start position per batch."""
    x, parts, begins = (node.operand(position) for position in range(3))
    along = [-1 if dimension == axis else 1 for dimension in range(len(x.order))]
    steps = np.arange(node.shape(parts)[axis]).reshape(along)
    first = _reshaped(node, begins, (node.shape(x)[0], *(1,) * (len(x.order) - 1)))
    places = node.do("Add", first, node.number(steps, begins.element))
    if is_circular:
        places = node.do("Mod", places, node.number(node.shape(x)[axis], begins.element))
    if node.shape(x)[0] == 1:
        return _write_rows(node, x, parts, places, axis)
    return _put_computed(node, x, parts, places, axis)


def _replaces(node: OnnxOperator) -> bool:
    return node.text("reduction", "none") == "none"


def _write_rows(node: OnnxOperator, x: Value, rows: Value, places: Value, axis: int) -> Value:
    """Writes the rows along the axis, in the order in which x is stored."""
    numbers = _reshaped(node, places, (node.shape(rows)[axis],))
    op = WriteRows(x.order.index(axis))
    made = node.apply(op, x.name, node.draft.stored(node.place, rows, x.order), numbers.name)
    return Value(made, x.order, x.element)


def _row_indices(node: OnnxOperator, indices: Value, axis: int) -> Value | None:
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


def _put_computed(node: OnnxOperator, x: Value, parts: Value, places: Value, axis: int) -> Value:
    """Writes each part to its position along the axis, one after the other; ignores invalid positions."""
    count, size = node.shape(parts)[axis], node.shape(x)[axis]
    if count > _MAX_UPDATES:
        node.known_value(
            places, f"indices of {count} updates (up to {_MAX_UPDATES} may be computed by the model)"
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
            neutral = node.number(_neutral(node, x, reduction), x.element)
            total = node.do(_REDUCTIONS[reduction], total, node.do("Where", is_there, part, neutral))
    return total


def _neutral(node: OnnxOperator, x: Value, reduction: str) -> float:
    """Returns the number that does not change a reduction's result."""
    if reduction not in _REDUCTIONS:
        raise node.fail(f'reduction "{reduction}" is not known')
    if reduction in ("add", "mul"):
        return 0 if reduction == "add" else 1
    dtype = node.dtype(x)
    low, high = (-np.inf, np.inf) if dtype is DType.F32 else dtype.limits
    return low if reduction == "max" else high


def _computed_from_start(node: OnnxOperator, indices: Value, size: int) -> Value:
    """Converts negative indices, which count from the end."""
    is_negative = node.do("Less", indices, node.number(0, indices.element))
    moved = node.do("Add", indices, node.number(size, indices.element))
    return node.do("Where", is_negative, moved, indices)


def _extended(node: OnnxOperator, x: Value, axis: int, count: int, number: int) -> Value:
    sizes = [count if dimension == axis else size for dimension, size in enumerate(node.shape(x))]
    return concatenated(node, [x, node.number(np.full(sizes, number), x.element)], axis)


def _reshaped(node: OnnxOperator, x: Value, shape: tuple[int, ...]) -> Value:
    return node.value(node.reshaped(node.plain(x), shape), x.element)


SCATTERING: Mapping[str, Importer] = {
    "Col2Im": _col2im,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
}
