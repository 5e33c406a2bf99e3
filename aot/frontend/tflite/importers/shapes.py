"""Operators that only move elements: reshapes, slices, transpositions, concatenations, padding."""

from __future__ import annotations

from math import prod

import tflite

from aot.frontend.tflite.draft import FOR_RECURRENT_LAYERS
from aot.frontend.tflite.importers.rearranging import rearrange, repeated, require_movable, rescaled
from aot.frontend.tflite.importers.row_lists import is_empty, keep_rows, parts_of, rows_within
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import TensorType, dense_strides
from aot.ops.concat import Concat
from aot.ops.pad import Pad
from aot.ops.rearrange import Loops
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.ops.spatial import Pair


def import_reshape(node: TfliteOperator) -> None:
    """Reshapes to the result's declared shape; a shape computed at run time is rejected."""
    x = node.operand(0, "the data")
    shape = node.optional_operand(1)
    if shape is not None and shape not in node.draft.constants:
        raise node.fail(
            f'its new shape "{shape}" must be constant', "convert the model with a fixed input shape"
        )
    output = node.the_output
    node.add_node(Reshape(node.tensor(output).shape), (x,), output)


def _import_concatenation(node: TfliteOperator) -> None:
    options = node.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        raise node.fail(
            "a fused activation is not supported",
            "convert the model again: current converters store the activation separately",
        )
    output = node.the_output
    names = []
    for name in node.operands("a part"):
        require_movable(node, name, output)
        names.append(rescaled(node, name, output))
    if node.axis(options.Axis(), node.tensor(names[0]).rank) == 0:
        names = list(parts_of(node, names))
    if not names:
        raise node.fail("none of its parts has rows", FOR_RECURRENT_LAYERS)
    _concatenate(node, names, options.Axis())


def _import_pack(node: TfliteOperator) -> None:
    """Concatenates along a new dimension."""
    names = node.operands("a part")
    for name in names:
        require_movable(node, name, node.the_output)
    rank = node.tensor(names[0]).rank + 1
    axis = node.axis(node.options(tflite.PackOptions).Axis(), rank)
    shape = node.tensor(names[0]).shape
    parts = [node.reshaped(n, (*shape[:axis], 1, *shape[axis:])) for n in names]
    _concatenate(node, parts, axis)


def _concatenate(node: TfliteOperator, names: list[str], number: int) -> None:
    first = node.tensor(names[0])
    axis = node.axis(number, first.rank)
    output = node.the_output
    if axis == first.rank - 1 or (first.rank == 4 and first.shape[0] == 1 and axis == 2):
        node.add_node(Concat(axis), names, output)
        return
    before = prod(first.shape[:axis])
    flat = [node.reshaped(n, (before, node.tensor(n).elements // before)) for n in names]
    whole = (before, node.tensor(output).elements // before)
    node.reshaped_result(Concat(1), flat, whole)


def _import_strided_slice(node: TfliteOperator) -> None:
    options = node.options(tflite.StridedSliceOptions)
    if options.EllipsisMask() or options.NewAxisMask():
        raise node.fail(
            "an ellipsis or a new axis is not supported",
            "write the slice with a begin and an end for each dimension",
        )
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    begins, ends, steps = (node.integers(i, "bounds") for i in (1, 2, 3))
    if not len(begins) == len(ends) == len(steps) <= len(shape) or 0 in steps:
        raise node.fail(f"bounds {list(begins)}, {list(ends)}, {list(steps)} do not fit shape {list(shape)}")
    sizes, offset, strides = list(shape), 0, list(dense_strides(shape))
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        bit = 1 << axis
        if options.ShrinkAxisMask() & bit:
            first = 0 if options.BeginMask() & bit else begin
            place = _chosen_place(node, first, step, shape[axis])
            chosen = range(place, place + 1)
        else:
            start = None if options.BeginMask() & bit else begin
            if options.Offset():  # the ends count from the begins
                end += slice(start, None, step).indices(shape[axis])[0]
            span = slice(start, None if options.EndMask() & bit else end, step)
            chosen = range(*span.indices(shape[axis]))
        if axis == 0 and chosen.step == 1:  # rows of a list, as Keras' recurrent loops pick them
            x, first = rows_within(node, x, chosen.start, len(chosen))
            chosen = range(first, first + len(chosen))
        sizes[axis] = len(chosen)
        offset += chosen.start * strides[axis]
        strides[axis] *= chosen.step
    rearrange(node, x, Loops(tuple(sizes), tuple(strides), offset), node.the_output)


def _chosen_place(node: TfliteOperator, begin: int, step: int, size: int) -> int:
    """Returns the element that a dimension shrinks to. Interpreters return garbage for one out of range."""
    if step < 1 or not -size <= begin < size:
        raise node.fail(
            f"a dimension of {size} is shrunk to element {begin} in steps of {step}",
            "the file looks corrupted: get or convert it again",
        )
    return begin % size


def _import_slice(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    begins, sizes = (node.integers(i, "bounds") for i in (1, 2))
    if len(begins) != len(shape) or len(sizes) != len(shape):
        raise node.fail(f"bounds {list(begins)}, {list(sizes)} do not fit shape {list(shape)}")
    taken = tuple(n - b if s == -1 else s for n, b, s in zip(shape, begins, sizes, strict=True))
    if any(b < 0 or s < 0 or b + s > n for n, b, s in zip(shape, begins, taken, strict=True)):
        raise node.fail(f"elements from {list(begins)}, {list(taken)} of them, are outside {list(shape)}")
    if is_empty(node, taken):
        return
    x, first = rows_within(node, x, begins[0], taken[0]) if shape else (x, 0)
    strides, output = dense_strides(node.tensor(x).shape), node.the_output
    offset = sum(b * s for b, s in zip((first, *begins[1:]), strides, strict=True))
    rearrange(node, x, Loops(taken, strides, offset), output)
    if node.tensor(x).shape == taken:
        keep_rows(node, x, output)


def _import_split(node: TfliteOperator) -> None:
    """Splits into parts of equal size."""
    x = node.operand(1, "the data")
    number = node.integer(0, "axis")
    _split(node, x, number)


def _import_split_v(node: TfliteOperator) -> None:
    """Splits into parts with the sizes of the results."""
    x = node.operand(0, "the data")
    number = node.integer(2, "axis")
    _split(node, x, number)


def _split(node: TfliteOperator, x: str, number: int) -> None:
    shape = node.tensor(x).shape
    axis = node.axis(number, len(shape))
    strides, begin = dense_strides(shape), 0
    declared = [node.tensor(output).shape for output in node.outputs]
    lengths = [sizes[axis] if len(sizes) == len(shape) else 0 for sizes in declared]
    if sum(lengths) != shape[axis]:
        raise node.fail(f"parts {lengths} do not make dimension {axis} of shape {list(shape)}")
    for output, length in zip(node.outputs, lengths, strict=True):
        sizes = (*shape[:axis], length, *shape[axis + 1 :])
        rearrange(node, x, Loops(sizes, strides, begin * strides[axis]), output)
        begin += length


def _import_unpack(node: TfliteOperator) -> None:
    """Splits into parts of size one, without that dimension."""
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    axis = node.axis(node.options(tflite.UnpackOptions).Axis(), len(shape))
    strides = dense_strides(shape)
    if len(node.outputs) != shape[axis]:
        raise node.fail(f"{len(node.outputs)} results do not match dimension {axis} of {list(shape)}")
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    for index, output in enumerate(node.outputs):
        require_movable(node, x, output)
        rearrange(node, x, Loops(sizes, strides, index * strides[axis]), output)


def _import_transpose(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    order = [node.axis(a, len(shape)) for a in node.integers(1, "order")]
    if sorted(order) != list(range(len(shape))):
        raise node.fail(f"order {order} does not fit shape {list(shape)}")
    strides = dense_strides(shape)
    loops = Loops(tuple(shape[a] for a in order), tuple(strides[a] for a in order))
    rearrange(node, x, loops, node.the_output)


def _import_broadcast_to(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    output = node.the_output
    rearrange(node, x, repeated(node, node.tensor(x).shape, node.tensor(output).shape), output)


def _import_pad(node: TfliteOperator) -> None:
    """Pads rows and columns of an image; any other dimension as the columns of a separate image."""
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    amounts = node.integers(1, "padding")
    if len(amounts) != 2 * len(shape) or min(amounts, default=0) < 0:
        raise node.fail(f"padding {list(amounts)} does not fit shape {list(shape)}")
    pairs = [(amounts[2 * a], amounts[2 * a + 1]) for a in range(len(shape))]
    value = _padding_value(node)
    if len(shape) == 4 and shape[0] == 1 and pairs[0] == pairs[3] == (0, 0):
        op = Pad((pairs[1], pairs[2]), value)
        node.add_node(op, (x,), node.the_output)
        return
    _pad_each(node, x, pairs, value)


def _padding_value(node: TfliteOperator) -> float:
    """Returns the value as stored in the result; by default the stored form of 0."""
    if node.optional_operand(2) is not None:
        name = node.constant(2, "value")
        require_movable(node, name, node.the_output)
        return float(node.array(name).reshape(-1)[0])
    return _zero(node.tensor(node.the_output))


def _zero(tensor: TensorType) -> float:
    """Returns 0 as it is stored."""
    return float(quant_of(tensor).zero_point) if tensor.quant is not None else 0.0


def _pad_each(node: TfliteOperator, x: str, pairs: list[Pair], value: float) -> None:
    """Pads one dimension after the other; the last one gives the result."""
    axes = [axis for axis, pair in enumerate(pairs) if pair != (0, 0)] or [0]
    for axis in axes[:-1]:
        x = _pad_one(node, x, axis, pairs[axis], value)
    tensor, axis = node.tensor(x), axes[-1]
    image = _around(tensor.shape, axis)
    op = Pad(((0, 0), pairs[axis]), value)
    source = node.reshaped(x, image)
    whole = (*image[:2], image[2] + sum(pairs[axis]), image[3])
    node.reshaped_result(op, (source,), whole)


def _pad_one(node: TfliteOperator, x: str, axis: int, pair: Pair, value: float) -> str:
    tensor = node.tensor(x)
    image = _around(tensor.shape, axis)
    whole = (*image[:2], image[2] + sum(pair), image[3])
    padded = node.value_like(f"{x}/padded", tensor, whole)
    node.add_node(Pad(((0, 0), pair), value), (node.reshaped(x, image),), padded)
    length = tensor.shape[axis] + sum(pair)
    return node.reshaped(padded, (*tensor.shape[:axis], length, *tensor.shape[axis + 1 :]))


def _import_reverse(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    turned, strides = node.axes(len(shape)), dense_strides(shape)
    offset = sum((shape[a] - 1) * strides[a] for a in turned)
    signed = tuple(-s if a in turned else s for a, s in enumerate(strides))
    rearrange(node, x, Loops(shape, signed, offset), node.the_output)


def _import_tile(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    counts = node.integers(1, "multiples")
    if len(counts) != len(shape) or min(counts, default=1) < 1:
        raise node.fail(f"multiples {list(counts)} do not fit shape {list(shape)}")
    sizes = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    strides = tuple(n for s in dense_strides(shape) for n in (0, s))
    rearrange(node, x, Loops(sizes, strides), node.the_output)


def _blocks(node: TfliteOperator, size: int, *dimensions: int) -> int:
    if size < 1 or any(d % size for d in dimensions):
        raise node.fail(f"blocks of {size} do not fit {list(dimensions)}", "the file looks corrupted")
    return size


def _import_depth_to_space(node: TfliteOperator) -> None:
    x, image = node.image()
    n, height, width, depth = image.shape
    side = node.options(tflite.DepthToSpaceOptions).BlockSize()
    _blocks(node, side * side if side > 0 else 0, depth)
    whole = (n, height, width, side, side, depth // (side * side))
    _transposed(node, x, whole, (0, 1, 3, 2, 4, 5))


def _import_space_to_depth(node: TfliteOperator) -> None:
    x, image = node.image()
    n, height, width, depth = image.shape
    side = _blocks(node, node.options(tflite.SpaceToDepthOptions).BlockSize(), height, width)
    _transposed(node, x, (n, height // side, side, width // side, side, depth), (0, 1, 3, 2, 4, 5))


def _transposed(node: TfliteOperator, x: str, shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    strides = dense_strides(shape)
    loops = Loops(tuple(shape[a] for a in order), tuple(strides[a] for a in order))
    rearrange(node, x, loops, node.the_output)


def _import_batch_to_space(node: TfliteOperator) -> None:
    """Places blocks of batches side by side, then crops."""
    x = node.operand(0, "the data")
    shape = node.tensor(x).shape
    blocks, crops = (node.integers(i, "blocks and crops") for i in (1, 2))
    count = len(blocks)
    if (
        len(crops) != 2 * count
        or count >= len(shape)
        or min(blocks, default=1) < 1
        or shape[0] % prod(blocks)
    ):
        raise node.fail(f"blocks {list(blocks)}, crops {list(crops)} do not fit shape {list(shape)}")
    require_movable(node, x, node.the_output)
    batch = shape[0] // prod(blocks)
    split = (*blocks, batch, *shape[1:])
    order = [count, *(n for a in range(count) for n in (count + 1 + a, a)), *range(2 * count + 1, len(split))]
    whole = (batch, *(b * d for b, d in zip(blocks, shape[1:], strict=False)), *shape[count + 1 :])
    full = node.value_like(f"{x}/blocks", node.tensor(x), whole)
    strides = dense_strides(split)
    loops = Loops(tuple(split[a] for a in order), tuple(strides[a] for a in order))
    rearrange(node, x, loops, full)
    sizes = list(whole)
    offset = 0
    for a in range(count):
        sizes[1 + a] -= crops[2 * a] + crops[2 * a + 1]
        offset += crops[2 * a] * dense_strides(whole)[1 + a]
    if min(sizes) < 1 or min(crops) < 0:
        raise node.fail(f"crops {list(crops)} do not fit {list(whole)}")
    rearrange(node, full, Loops(tuple(sizes), dense_strides(whole), offset), node.the_output)


def _import_space_to_batch(node: TfliteOperator) -> None:
    """Pads to whole blocks, then makes each position within a block a separate batch."""
    x = node.operand(0, "the data")
    tensor = node.tensor(x)
    blocks, pads = (node.integers(i, "blocks and padding") for i in (1, 2))
    count = len(blocks)
    if (
        len(pads) != 2 * count
        or count >= tensor.rank
        or min(blocks, default=1) < 1
        or min(pads, default=0) < 0
    ):
        raise node.fail(f"blocks {list(blocks)}, padding {list(pads)} do not fit {list(tensor.shape)}")
    output = node.the_output
    require_movable(node, x, output)
    value = _zero(node.tensor(output))
    for a in range(count):
        pair = (pads[2 * a], pads[2 * a + 1])
        x = x if pair == (0, 0) else _pad_one(node, x, 1 + a, pair, value)
    shape = node.tensor(x).shape
    for block, size in zip(blocks, shape[1:], strict=False):
        _blocks(node, block, size)
    parts = tuple(n for b, d in zip(blocks, shape[1:], strict=False) for n in (d // b, b))
    split = (shape[0], *parts, *shape[count + 1 :])
    order = (
        *(2 + 2 * a for a in range(count)),
        0,
        *(1 + 2 * a for a in range(count)),
        *range(2 * count + 1, len(split)),
    )
    _transposed(node, x, split, order)


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int, int]:
    """Returns the shape of an image whose columns are that dimension."""
    return (1, prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))


SHAPES: dict[str, Importer] = {
    "BATCH_TO_SPACE_ND": _import_batch_to_space,
    "BROADCAST_TO": _import_broadcast_to,
    "CONCATENATION": _import_concatenation,
    "DEPTH_TO_SPACE": _import_depth_to_space,
    "EXPAND_DIMS": import_reshape,
    "PACK": _import_pack,
    "PAD": _import_pad,
    "PADV2": _import_pad,
    "RESHAPE": import_reshape,
    "REVERSE_V2": _import_reverse,
    "SLICE": _import_slice,
    "SPACE_TO_BATCH_ND": _import_space_to_batch,
    "SPACE_TO_DEPTH": _import_space_to_depth,
    "SPLIT": _import_split,
    "SPLIT_V": _import_split_v,
    "SQUEEZE": import_reshape,
    "STRIDED_SLICE": _import_strided_slice,
    "TILE": _import_tile,
    "TRANSPOSE": _import_transpose,
    "UNPACK": _import_unpack,
}
