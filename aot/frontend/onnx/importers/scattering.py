"""Scatters elements; at known positions each result is selected from the old and new elements."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers import placing
from aot.frontend.onnx.importers.moving import concatenated
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.strides import dense_strides
from aot.ops.gather import Gather

Places = npt.NDArray[np.int64]


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
    if _is_open(node, 1):
        return placing.scatter_elements(node, axis)
    indices = _indices(node, 1)
    places = _counted(node, indices, shape[axis]) * dense_strides(shape)[axis]
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
    if _is_open(node, 1):
        return placing.scatter_nd(node, depth)
    indices = _indices(node, 1)
    steps = np.array(dense_strides(shape)[:depth])
    begins = np.zeros(indices.shape[:-1], np.int64)
    for number in range(depth):
        begins = begins + _counted(node, indices[..., number], shape[number]) * steps[number]
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
    if _is_open(node, 2):
        return placing.tensor_scatter(node, axis, is_circular)
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


def _is_open(node: OnnxOperator, position: int) -> bool:
    return node.has(position) and node.draft.array(node.operand(position)) is None


def _indices(node: OnnxOperator, position: int) -> Places:
    return node.known(position, "indices").astype(np.int64)


def _counted(node: OnnxOperator, indices: Places, size: int) -> Places:
    """Converts negative indices, which count from the end."""
    node.require_inside(indices, -size, size)
    return np.where(indices < 0, indices + size, indices)


def put(node: OnnxOperator, x: Value, parts: Value, places: Places, reduction: str) -> Value:
    """Puts each part at its position in the flat x (none if below 0); the last one wins, or all combine."""
    shape, flat = node.shape(x), places.reshape(-1)
    total = node.value(node.reshaped(node.plain(x), (prod(shape),)), x.element)
    source = node.value(node.reshaped(node.plain(parts), (prod(node.shape(parts)),)), parts.element)
    if reduction == "none":
        chosen = np.arange(prod(shape))
        chosen[flat[flat >= 0]] = np.nonzero(flat >= 0)[0] + prod(shape)
        return _picked(node, concatenated(node, [total, source], 0), chosen, shape)
    neutral = node.number(np.array([placing.neutral_of(node, x, reduction)]), x.element)
    choices = concatenated(node, [source, neutral], 0)
    for turn in _turns(flat, prod(shape)):
        total = node.do(placing.REDUCTIONS[reduction], total, _picked(node, choices, turn, (prod(shape),)))
    return node.value(node.reshaped(node.plain(total), shape), x.element)


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


SCATTERING: Mapping[str, Importer] = {
    "Col2Im": _col2im,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
}
