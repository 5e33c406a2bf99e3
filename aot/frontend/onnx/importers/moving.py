"""Operators that only move elements: shapes, slices, transpositions, repetitions, concatenations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Item, Order, Value
from aot.frontend.onnx.elements import STORED
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ir.types import dense_strides
from aot.ops.concat import Concat
from aot.ops.rearrange import Loops

# Chooses the order in which the dimensions of a result are stored, so that few elements move.


Group = tuple[list[int], list[int]]  # dimensions before and after, with the same number of elements


def cheapest_order(node: OnnxOperator, values: list[Value], rank: int) -> Order:
    """Returns the order of a computed operand that moves the fewest elements."""
    moving = [v for v in values if v.name not in node.draft.constants] or values
    if not moving:
        return tuple(range(rank))

    def moved(order: Order) -> tuple[int, bool]:
        others = [v for v in moving if not node.draft.is_stored(v, order)]
        return sum(node.draft.types[v.name].elements for v in others), order == tuple(range(rank))

    return min(dict.fromkeys(v.order for v in moving), key=moved)


def order_after(old: Sequence[int], order: Order, new: Sequence[int]) -> Order | None:
    """Returns the order of a reshaped tensor; None if groups are not adjacent, or permuted."""
    if order == tuple(range(len(old))):
        return tuple(range(len(new)))
    groups = _groups(old, new)
    if groups is None:
        return None
    stored = [d for d in order if old[d] != 1]
    begins = {before[0]: (before, after) for before, after in groups}
    found = [d for d, size in enumerate(new) if size == 1]
    while stored:
        group = begins.get(stored[0])
        if group is None or stored[: len(group[0])] != group[0]:
            return None
        found += group[1]
        stored = stored[len(group[0]) :]
    return tuple(found)


def _groups(old: Sequence[int], new: Sequence[int]) -> list[Group] | None:
    """Returns the smallest groups; dimensions of 1 are in none."""
    before = [d for d, size in enumerate(old) if size != 1]
    after = [d for d, size in enumerate(new) if size != 1]
    groups: list[Group] = []
    while before and after:
        left, right = [before.pop(0)], [after.pop(0)]
        many, wanted = old[left[0]], new[right[0]]
        while many != wanted:
            if many < wanted and before:
                left.append(before.pop(0))
                many *= old[left[-1]]
            elif many > wanted and after:
                right.append(after.pop(0))
                wanted *= new[right[-1]]
            else:
                return None
        groups.append((left, right))
    return None if before or after else groups


_MOST_ELEMENTS, _MOST_DIMENSIONS = 1 << 24, 32  # of a tensor whose shape the file computes


def _identity(node: OnnxOperator) -> Item:
    return node.item(0)


def _dropout(node: OnnxOperator) -> Results:
    """Imports Dropout as identity, outside training."""
    x = node.operand(0)
    training = node.has(2) and bool(node.known_scalar(2, "training mode"))
    if training and not (node.has(1) and node.known_scalar(1, "ratio") == 0):
        raise node.fail("training is not supported", "export the model for inference: model.eval()")
    if node.result_count == 1:
        return x
    return [x, node.number(np.ones(node.shape(x)), TensorProto.BOOL)]


def _reshape_to(node: OnnxOperator, x: Value, shape: tuple[int, ...]) -> Value:
    """Reshapes in stored order if dimensions that are split or joined are adjacent there."""
    order = order_after(node.shape(x), x.order, shape)
    if order is None:
        return node.value(node.reshaped(node.plain(x), shape), x.element)
    return Value(node.reshaped(x.name, [shape[d] for d in order]), order, x.element)


def _reshape(node: OnnxOperator) -> Value:
    x = node.operand(0)
    own = node.shape(x)
    wanted = node.known_integers(1, "new shape") if node.has(1) else node.integers("shape")
    keeps_zero = node.integer("allowzero", 0)
    shape = [own[i] if s == 0 and not keeps_zero and i < len(own) else s for i, s in enumerate(wanted)]
    if shape.count(-1) == 1:
        rest = prod(s for s in shape if s != -1)
        shape[shape.index(-1)] = prod(own) // rest if rest else 0
    if min(shape, default=1) < 0 or prod(shape) != prod(own):
        raise node.fail(f"shape {list(own)} cannot become {list(wanted)}")
    return _reshape_to(node, x, tuple(shape))


def _flatten(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise node.fail(f"axis {axis} is not one of {len(shape)}")
    axis = axis % len(shape) if axis < 0 else axis
    return _reshape_to(node, x, (prod(shape[:axis]), prod(shape[axis:])))


def _squeeze(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    axes = node.axes(1)
    given = [i for i, s in enumerate(shape) if s == 1] if axes is None else axes
    gone = {node.axis(a, len(shape)) for a in given}
    if any(shape[a] != 1 for a in gone):
        raise node.fail(f"axes {sorted(gone)} of shape {list(shape)} are not all 1")
    return _reshape_to(node, x, tuple(s for i, s in enumerate(shape) if i not in gone))


def _unsqueeze(node: OnnxOperator) -> Value:
    x = node.operand(0)
    axes = node.axes(1) or ()
    shape = list(node.shape(x))
    rank = len(shape) + len(axes)
    for axis in sorted(node.axis(a, rank) for a in axes):
        shape.insert(axis, 1)
    return _reshape_to(node, x, tuple(shape))


def _transpose(node: OnnxOperator) -> Value:
    """Moves no element: only records the order in which dimensions are stored."""
    x = node.operand(0)
    rank = len(x.order)
    axes = [node.axis(a, rank) for a in node.integers("perm", tuple(reversed(range(rank))))]
    if sorted(axes) != list(range(rank)):
        raise node.fail(f"its order {axes} does not fit {rank} dimensions")
    return Value(x.name, tuple(axes.index(dimension) for dimension in x.order), x.element)


def _shape(node: OnnxOperator) -> Value:
    shape = node.shape(node.operand(0))
    start, end = node.integer("start", 0), node.integer("end", len(shape))
    return node.number(np.asarray(shape[slice(start, end)], np.int64), TensorProto.INT64)


def _size(node: OnnxOperator) -> Value:
    return node.number(prod(node.shape(node.operand(0))), TensorProto.INT64)


def _slice(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    if node.has(1):
        starts, ends = node.known_integers(1, "starts"), node.known_integers(2, "ends")
    else:
        starts, ends = node.integers("starts"), node.integers("ends")
    axes = node.axes(3) or tuple(range(len(starts)))
    steps = node.known_integers(4, "steps") if node.has(4) else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise node.fail(f"its bounds {list(starts)}, {list(ends)}, {list(axes)}, {list(steps)} do not fit")
    chosen = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = node.axis(axis, len(shape))
        chosen[axis] = _range(start, end, step, shape[axis])
    return sliced(node, x, chosen)


def _range(start: int, end: int, step: int, size: int) -> range:
    """Clamps like ONNX: the position before the first is -1 only for negative steps."""
    start, end = (v + size if v < 0 else v for v in (start, end))
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


def sliced(node: OnnxOperator, x: Value, chosen: dict[int, range]) -> Value:
    """Selects ranges of dimensions, in any stored order."""
    shape = node.draft.types[x.name].shape
    strides = list(dense_strides(shape))
    sizes, offset = list(shape), 0
    for dimension, span in chosen.items():
        axis = x.order.index(dimension)
        offset += span.start * strides[axis] if len(span) else 0
        strides[axis] *= span.step
        sizes[axis] = len(span)
    return Value(node.picked(x.name, Loops(tuple(sizes), tuple(strides), offset), sizes), x.order, x.element)


def _split(node: OnnxOperator) -> Results:
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.axis(node.integer("axis", 0), len(shape))
    parts = node.axes(1, "split")
    if parts is None:
        size = -(-shape[axis] // node.result_count)
        parts = tuple(min(size, shape[axis] - i * size) for i in range(node.result_count))
    if sum(parts) != shape[axis] or len(parts) != node.result_count:
        raise node.fail(f"parts {list(parts)} do not make {shape[axis]} in {node.result_count} results")
    begins = [sum(parts[:i]) for i in range(len(parts))]
    return [sliced(node, x, {axis: range(b, b + p)}) for b, p in zip(begins, parts, strict=True)]


def _concat(node: OnnxOperator) -> Value:
    values = [node.operand(i) for i in range(len(node.operands))]
    return concatenated(node, values, node.integer("axis"))


def concatenated(node: OnnxOperator, values: list[Value], number: int) -> Value:
    first = values[0]
    axis = node.axis(number, len(first.order))
    shapes = [node.shape(v) for v in values]
    if len({(*s[:axis], *s[axis + 1 :]) for s in shapes}) != 1 or len({len(s) for s in shapes}) != 1:
        raise node.fail(f"shapes {', '.join(str(list(s)) for s in shapes)} do not fit along axis {axis}")
    values = [v for v, s in zip(values, shapes, strict=True) if s[axis]] or values[:1]
    if len(values) == 1:
        return values[0]
    order = cheapest_order(node, values, len(first.order))
    names = [node.draft.stored(node.place, v, order) for v in values]
    return Value(_concatenated(node, names, order.index(axis)), order, first.element)


def _concatenated(node: OnnxOperator, names: list[str], axis: int) -> str:
    shape = node.draft.types[names[0]].shape
    if axis == len(shape) - 1 or (len(shape) == 4 and shape[0] == 1 and axis == 2):
        return node.apply(Concat(axis), *names)
    before = prod(shape[:axis])
    flat = [node.reshaped(n, (before, node.draft.types[n].elements // before)) for n in names]
    length = sum(node.draft.types[n].shape[axis] for n in names)
    return node.reshaped(node.apply(Concat(1), *flat), (*shape[:axis], length, *shape[axis + 1 :]))


def _expand(node: OnnxOperator) -> Value:
    x = node.operand(0)
    own, wanted = node.shape(x), _sizes(node, node.known_integers(1, "new shape"))
    try:
        shape = np.broadcast_shapes(own, wanted)
    except ValueError:
        raise node.fail(f"shape {list(own)} cannot be repeated to {list(wanted)}") from None
    return node.value(node.repeated(node.plain(x), shape), x.element)


def _sizes(node: OnnxOperator, sizes: tuple[int, ...]) -> tuple[int, ...]:
    if min(sizes, default=1) < 0 or prod(sizes) > _MOST_ELEMENTS or len(sizes) > _MOST_DIMENSIONS:
        raise node.fail(f"{list(sizes)} is not a shape")
    return sizes


def _tile(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape, times = node.shape(x), _sizes(node, node.known_integers(1, "repeats"))
    if len(times) != len(shape):
        raise node.fail(f"repeats {list(times)} do not fit shape {list(shape)}")
    sizes = tuple(s for pair in zip(times, shape, strict=True) for s in pair)
    strides = tuple(s for step in dense_strides(shape) for s in (0, step))
    whole = [a * b for a, b in zip(times, shape, strict=True)]
    return node.value(node.picked(node.plain(x), Loops(sizes, strides), whole), x.element)


def _constant(node: OnnxOperator) -> Value:
    if node.has_attribute("value"):
        return node.constant_from(node.tensor("value"))
    for name, element in (("value_float", TensorProto.FLOAT), ("value_floats", TensorProto.FLOAT)):
        if node.has_attribute(name):
            value = node.floats(name) if name.endswith("s") else node.real(name)
            return node.number(np.asarray(value, np.float32), element)
    for name in ("value_int", "value_ints"):
        if node.has_attribute(name):
            return node.number(node.integers(name) if name.endswith("s") else node.integer(name), 7)
    raise node.fail("it holds no number: texts and sparse tensors are not supported")


def _constant_of_shape(node: OnnxOperator) -> Value:
    shape = _sizes(node, node.known_integers(0, "shape"))
    if node.has_attribute("value"):
        value = node.constant_from(node.tensor("value"))
    else:
        value = node.number(np.zeros(1, np.float32), TensorProto.FLOAT)
    element = node.draft.constants[value.name].reshape(-1)[0]
    return node.number(np.full(shape, element), value.element)


def _range_of(node: OnnxOperator) -> Value:
    start, limit, step = (node.known_scalar(i, "range") for i in range(3))
    if step == 0 or abs((limit - start) / step) > 1 << 24:
        raise node.fail(f"a range from {start} to {limit} in steps of {step} is not supported")
    element = node.operand(0).element
    dtype = STORED[element].numpy
    return node.number(np.arange(start, limit, step).astype(dtype), element)


def _eye_like(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    if len(shape) != 2:
        raise node.fail(f"shape {list(shape)} is not 2-dimensional")
    return node.number(np.eye(*shape, node.integer("k", 0)), node.integer("dtype", x.element))


def _depth_to_space(node: OnnxOperator) -> Value:
    x, block = node.operand(0), node.integer("blocksize")
    shape = node.shape(x)
    if len(shape) != 4 or block < 1 or shape[1] % block**2:
        raise node.fail(f"blocks of {block} do not fit shape {list(shape)}")
    n, c, h, w = shape
    depth = c // block**2
    if node.text("mode", "DCR") == "DCR":
        parts, axes = (n, block, block, depth, h, w), (0, 3, 4, 1, 5, 2)
    else:
        parts, axes = (n, depth, block, block, h, w), (0, 1, 4, 2, 5, 3)
    return _moved(node, x, parts, axes, (n, depth, h * block, w * block))


def _space_to_depth(node: OnnxOperator) -> Value:
    x, block = node.operand(0), node.integer("blocksize")
    shape = node.shape(x)
    if len(shape) != 4 or block < 1 or shape[2] % block or shape[3] % block:
        raise node.fail(f"blocks of {block} do not fit shape {list(shape)}")
    n, c, h, w = shape
    h, w = h // block, w // block
    axes = (0, 3, 5, 1, 2, 4) if node.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return _moved(node, x, (n, c, h, block, w, block), axes, (n, c * block**2, h, w))


def _moved(
    node: OnnxOperator, x: Value, parts: tuple[int, ...], axes: tuple[int, ...], shape: tuple[int, ...]
) -> Value:
    """Views the tensor as parts, transposes these, and views the whole in a shape."""
    strides = dense_strides(parts)
    loops = Loops(tuple(parts[a] for a in axes), tuple(strides[a] for a in axes))
    return node.value(node.picked(node.plain(x), loops, shape), x.element)


def _reverse_sequence(node: OnnxOperator) -> Value:
    x, lengths = node.operand(0), node.known_integers(1, "sequence lengths")
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    size = node.shape(x)[time]
    if len(lengths) != node.shape(x)[batch] or not all(0 <= n <= size for n in lengths):
        raise node.fail(f"lengths {list(lengths)} do not fit shape {list(node.shape(x))}")
    rows = []
    for index, length in enumerate(lengths):
        row = sliced(node, x, {batch: range(index, index + 1)})
        parts = [sliced(node, row, {time: range(length - 1, -1, -1)})]
        if length < size:
            parts.append(sliced(node, row, {time: range(length, size)}))
        rows.append(concatenated(node, parts, time))
    return concatenated(node, rows, batch)


MOVING: dict[str, Importer] = {
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "Dropout": _dropout,
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Flatten": _flatten,
    "Identity": _identity,
    "Range": _range_of,
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
