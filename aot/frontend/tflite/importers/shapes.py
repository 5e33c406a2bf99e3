"""Operators that only move elements: reshapes, slices, transpositions, concatenations, padding."""

from __future__ import annotations

from math import prod

import tflite

from aot.frontend.tflite.draft import Draft, Importer, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import dense_strides, rearrange, repeated
from aot.ops.concat import Concat
from aot.ops.pad import Pad
from aot.ops.rearrange import Loops
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.ops.spatial import Pair


def import_reshape(draft: Draft, operator: Operator, mode: str) -> None:
    """The result's declared shape is the new shape; a shape computed at run time is refused."""
    x = read.operand(operator, 0, "the data")
    shape = read.optional_operand(operator, 1)
    if shape is not None and shape not in draft.constants:
        raise operator.fail(
            f'its new shape "{shape}" must be constant', "convert the model with a fixed input shape"
        )
    output = read.the_output(operator)
    draft.add_node(operator, Reshape(draft.types[output].shape), (x,), output)


def _import_concatenation(draft: Draft, operator: Operator, mode: str) -> None:
    options = operator.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        raise operator.fail("a fused activation is not supported", "convert the model again: it comes apart")
    names = [read.operand(operator, i, "a part") for i in range(len(operator.inputs))]
    _concatenate(draft, operator, names, options.Axis())


def _import_pack(draft: Draft, operator: Operator, mode: str) -> None:
    """A concatenation along a dimension that is new."""
    names = [read.operand(operator, i, "a part") for i in range(len(operator.inputs))]
    rank = draft.types[names[0]].rank + 1
    axis = read.axis(operator, operator.options(tflite.PackOptions).Axis(), rank)
    shape = draft.types[names[0]].shape
    parts = [read.reshaped(draft, operator, n, (*shape[:axis], 1, *shape[axis:])) for n in names]
    _concatenate(draft, operator, parts, axis)


def _concatenate(draft: Draft, operator: Operator, names: list[str], number: int) -> None:
    first = draft.types[names[0]]
    axis = read.axis(operator, number, first.rank)
    output = read.the_output(operator)
    if axis == first.rank - 1 or (first.rank == 4 and first.shape[0] == 1 and axis == 2):
        draft.add_node(operator, Concat(axis), names, output)
        return
    before = prod(first.shape[:axis])
    flat = [read.reshaped(draft, operator, n, (before, draft.types[n].elements // before)) for n in names]
    whole = (before, draft.types[output].elements // before)
    read.reshaped_result(draft, operator, Concat(1), flat, whole)


def _import_strided_slice(draft: Draft, operator: Operator, mode: str) -> None:
    options = operator.options(tflite.StridedSliceOptions)
    if options.EllipsisMask() or options.NewAxisMask():
        raise operator.fail("an ellipsis or a new axis is not supported", "write the slice out")
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    begins, ends, steps = (read.integers(draft, operator, i, "bounds") for i in (1, 2, 3))
    if not len(begins) == len(ends) == len(steps) <= len(shape) or 0 in steps:
        raise operator.fail(
            f"bounds {list(begins)}, {list(ends)}, {list(steps)} do not fit shape {list(shape)}"
        )
    sizes, offset, strides = list(shape), 0, list(dense_strides(shape))
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        bit = 1 << axis
        if options.ShrinkAxisMask() & bit:
            chosen = range(begin % shape[axis], begin % shape[axis] + 1)
        else:
            span = slice(
                None if options.BeginMask() & bit else begin, None if options.EndMask() & bit else end, step
            )
            chosen = range(*span.indices(shape[axis]))
        sizes[axis] = len(chosen)
        offset += chosen.start * strides[axis]
        strides[axis] *= chosen.step
    rearrange(draft, operator, x, Loops(tuple(sizes), tuple(strides), offset), read.the_output(operator))


def _import_slice(draft: Draft, operator: Operator, mode: str) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    begins, sizes = (read.integers(draft, operator, i, "bounds") for i in (1, 2))
    if len(begins) != len(shape) or len(sizes) != len(shape):
        raise operator.fail(f"bounds {list(begins)}, {list(sizes)} do not fit shape {list(shape)}")
    strides = dense_strides(shape)
    taken = tuple(n - b if s == -1 else s for n, b, s in zip(shape, begins, sizes, strict=True))
    offset = sum(b * s for b, s in zip(begins, strides, strict=True))
    rearrange(draft, operator, x, Loops(taken, strides, offset), read.the_output(operator))


def _import_split(draft: Draft, operator: Operator, mode: str) -> None:
    """Parts of one size."""
    x = read.operand(operator, 1, "the data")
    (number,) = read.integers(draft, operator, 0, "axis")
    _split(draft, operator, x, number)


def _import_split_v(draft: Draft, operator: Operator, mode: str) -> None:
    """Parts as large as the results say."""
    x = read.operand(operator, 0, "the data")
    (number,) = read.integers(draft, operator, 2, "axis")
    _split(draft, operator, x, number)


def _split(draft: Draft, operator: Operator, x: str, number: int) -> None:
    shape = draft.types[x].shape
    axis = read.axis(operator, number, len(shape))
    strides, begin = dense_strides(shape), 0
    for output in operator.outputs:
        declared = draft.types[output].shape
        length = declared[axis] if len(declared) == len(shape) else 0
        sizes = (*shape[:axis], length, *shape[axis + 1 :])
        rearrange(draft, operator, x, Loops(sizes, strides, begin * strides[axis]), output)
        begin += length


def _import_unpack(draft: Draft, operator: Operator, mode: str) -> None:
    """Parts of size one, whose dimension goes."""
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    axis = read.axis(operator, operator.options(tflite.UnpackOptions).Axis(), len(shape))
    strides = dense_strides(shape)
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    for index, output in enumerate(operator.outputs):
        rearrange(draft, operator, x, Loops(sizes, strides, index * strides[axis]), output)


def _import_transpose(draft: Draft, operator: Operator, mode: str) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    order = read.integers(draft, operator, 1, "order")
    if sorted(a % len(shape) for a in order) != list(range(len(shape))):
        raise operator.fail(f"order {list(order)} does not fit shape {list(shape)}")
    strides = dense_strides(shape)
    loops = Loops(tuple(shape[a] for a in order), tuple(strides[a] for a in order))
    rearrange(draft, operator, x, loops, read.the_output(operator))


def _import_broadcast_to(draft: Draft, operator: Operator, mode: str) -> None:
    x = read.operand(operator, 0, "the data")
    output = read.the_output(operator)
    rearrange(draft, operator, x, repeated(operator, draft.types[x].shape, draft.types[output].shape), output)


def _import_pad(draft: Draft, operator: Operator, mode: str) -> None:
    """By rows and columns of an image; any other dimension as the columns of an image of its own."""
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    amounts = read.integers(draft, operator, 1, "padding")
    if len(amounts) != 2 * len(shape) or min(amounts, default=0) < 0:
        raise operator.fail(f"padding {list(amounts)} does not fit shape {list(shape)}")
    pairs = [(amounts[2 * a], amounts[2 * a + 1]) for a in range(len(shape))]
    value = _padding_value(draft, operator, x)
    if len(shape) == 4 and shape[0] == 1 and pairs[0] == pairs[3] == (0, 0):
        op = Pad((pairs[1], pairs[2]), value)
        draft.add_node(operator, op, (x,), read.the_output(operator))
        return
    _pad_each(draft, operator, x, pairs, value)


def _padding_value(draft: Draft, operator: Operator, x: str) -> float:
    """As it is stored; what is not given is the real number 0."""
    if read.optional_operand(operator, 2) is not None:
        name = read.constant(draft, operator, 2, "value")
        return float(draft.constants[name].reshape(-1)[0])
    tensor = draft.types[x]
    return float(quant_of(tensor).zero_point) if tensor.quant is not None else 0.0


def _pad_each(draft: Draft, operator: Operator, x: str, pairs: list[Pair], value: float) -> None:
    """One dimension after the other; the last one gives the result."""
    axes = [axis for axis, pair in enumerate(pairs) if pair != (0, 0)] or [0]
    for axis in axes[:-1]:
        x = _pad_one(draft, operator, x, axis, pairs[axis], value)
    tensor, axis = draft.types[x], axes[-1]
    image = _around(tensor.shape, axis)
    op = Pad(((0, 0), pairs[axis]), value)
    source = read.reshaped(draft, operator, x, image)
    whole = (*image[:2], image[2] + sum(pairs[axis]), image[3])
    read.reshaped_result(draft, operator, op, (source,), whole)


def _pad_one(draft: Draft, operator: Operator, x: str, axis: int, pair: Pair, value: float) -> str:
    tensor = draft.types[x]
    image = _around(tensor.shape, axis)
    whole = (*image[:2], image[2] + sum(pair), image[3])
    padded = read.value_like(draft, f"{x}/padded", tensor, whole)
    draft.add_node(operator, Pad(((0, 0), pair), value), (read.reshaped(draft, operator, x, image),), padded)
    length = tensor.shape[axis] + sum(pair)
    return read.reshaped(draft, operator, padded, (*tensor.shape[:axis], length, *tensor.shape[axis + 1 :]))


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int, int]:
    """An image whose columns are that dimension."""
    return (1, prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))


SHAPES: dict[str, Importer] = {
    "BROADCAST_TO": _import_broadcast_to,
    "CONCATENATION": _import_concatenation,
    "EXPAND_DIMS": import_reshape,
    "PACK": _import_pack,
    "PAD": _import_pad,
    "PADV2": _import_pad,
    "RESHAPE": import_reshape,
    "SLICE": _import_slice,
    "SPLIT": _import_split,
    "SPLIT_V": _import_split_v,
    "SQUEEZE": import_reshape,
    "STRIDED_SLICE": _import_strided_slice,
    "TRANSPOSE": _import_transpose,
    "UNPACK": _import_unpack,
}
