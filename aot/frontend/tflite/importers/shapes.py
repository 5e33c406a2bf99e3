"""Operators that only move elements: reshapes, slices, transpositions, concatenations, padding."""

from __future__ import annotations

from math import prod

import tflite

from aot.frontend.tflite.draft import FOR_RECURRENT_LAYERS, Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.other_scales import require_movable, rescaled
from aot.frontend.tflite.importers.rearranging import rearrange, repeated
from aot.frontend.tflite.importers.row_lists import is_empty, keep_rows, parts_of, rows_within
from aot.ir.strides import dense_strides
from aot.ir.types import TensorType
from aot.ops.concat import Concat
from aot.ops.pad import Pad
from aot.ops.rearrange import Loops
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.ops.spatial import Pair


def import_reshape(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Reshapes to the result's declared shape; a shape computed at run time is rejected."""
    x = read.operand(operator, 0, "the data")
    shape = read.optional_operand(operator, 1)
    if shape is not None and shape not in draft.constants:
        raise operator.fail(
            f'its new shape "{shape}" must be constant', "convert the model with a fixed input shape"
        )
    output = read.the_output(operator)
    draft.add_node(operator, Reshape(draft.types[output].shape), (x,), output)


def _import_concatenation(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.ConcatenationOptions)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        raise operator.fail(
            "a fused activation is not supported",
            "convert the model again: current converters store the activation separately",
        )
    output = read.the_output(operator)
    names = []
    for name in read.operands(operator, "a part"):
        require_movable(draft, operator, name, output)
        names.append(rescaled(draft, operator, name, output))
    if read.axis(operator, options.Axis(), draft.types[names[0]].rank) == 0:
        names = list(parts_of(draft, operator, names))
    if not names:
        raise operator.fail("none of its parts has rows", FOR_RECURRENT_LAYERS)
    _concatenate(draft, operator, names, options.Axis())


def _import_pack(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Concatenates along a new dimension."""
    names = read.operands(operator, "a part")
    for name in names:
        require_movable(draft, operator, name, read.the_output(operator))
    rank = draft.types[names[0]].rank + 1
    axis = read.axis(operator, operator.options(tflite.PackOptions).Axis(), rank)
    shape = draft.types[names[0]].shape
    parts = [read.reshaped(draft, operator, n, (*shape[:axis], 1, *shape[axis:])) for n in names]
    _concatenate(draft, operator, parts, axis)


def _concatenate(draft: TfliteDraft, operator: TfliteOperator, names: list[str], number: int) -> None:
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


def _import_strided_slice(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.StridedSliceOptions)
    if options.EllipsisMask() or options.NewAxisMask():
        raise operator.fail(
            "an ellipsis or a new axis is not supported",
            "write the slice with a begin and an end for each dimension",
        )
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
            first = 0 if options.BeginMask() & bit else begin
            place = _chosen_place(operator, first, step, shape[axis])
            chosen = range(place, place + 1)
        else:
            start = None if options.BeginMask() & bit else begin
            if options.Offset():  # the ends count from the begins
                end += slice(start, None, step).indices(shape[axis])[0]
            span = slice(start, None if options.EndMask() & bit else end, step)
            chosen = range(*span.indices(shape[axis]))
        if axis == 0 and chosen.step == 1:  # rows of a list, as Keras' recurrent loops pick them
            x, first = rows_within(draft, operator, x, chosen.start, len(chosen))
            chosen = range(first, first + len(chosen))
        sizes[axis] = len(chosen)
        offset += chosen.start * strides[axis]
        strides[axis] *= chosen.step
    rearrange(draft, operator, x, Loops(tuple(sizes), tuple(strides), offset), read.the_output(operator))


def _chosen_place(operator: TfliteOperator, begin: int, step: int, size: int) -> int:
    """Returns the element that a dimension shrinks to. Interpreters return garbage for one out of range."""
    if step < 1 or not -size <= begin < size:
        raise operator.fail(
            f"a dimension of {size} is shrunk to element {begin} in steps of {step}",
            "the file looks corrupted: get or convert it again",
        )
    return begin % size


def _import_slice(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    begins, sizes = (read.integers(draft, operator, i, "bounds") for i in (1, 2))
    if len(begins) != len(shape) or len(sizes) != len(shape):
        raise operator.fail(f"bounds {list(begins)}, {list(sizes)} do not fit shape {list(shape)}")
    taken = tuple(n - b if s == -1 else s for n, b, s in zip(shape, begins, sizes, strict=True))
    if any(b < 0 or s < 0 or b + s > n for n, b, s in zip(shape, begins, taken, strict=True)):
        raise operator.fail(f"elements from {list(begins)}, {list(taken)} of them, are outside {list(shape)}")
    if is_empty(draft, operator, taken):
        return
    x, first = rows_within(draft, operator, x, begins[0], taken[0]) if shape else (x, 0)
    strides, output = dense_strides(draft.types[x].shape), read.the_output(operator)
    offset = sum(b * s for b, s in zip((first, *begins[1:]), strides, strict=True))
    rearrange(draft, operator, x, Loops(taken, strides, offset), output)
    if draft.types[x].shape == taken:
        keep_rows(draft, x, output)


def _import_split(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Splits into parts of equal size."""
    x = read.operand(operator, 1, "the data")
    number = read.integer(draft, operator, 0, "axis")
    _split(draft, operator, x, number)


def _import_split_v(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Splits into parts with the sizes of the results."""
    x = read.operand(operator, 0, "the data")
    number = read.integer(draft, operator, 2, "axis")
    _split(draft, operator, x, number)


def _split(draft: TfliteDraft, operator: TfliteOperator, x: str, number: int) -> None:
    shape = draft.types[x].shape
    axis = read.axis(operator, number, len(shape))
    strides, begin = dense_strides(shape), 0
    declared = [draft.types[output].shape for output in operator.outputs]
    lengths = [sizes[axis] if len(sizes) == len(shape) else 0 for sizes in declared]
    if sum(lengths) != shape[axis]:
        raise operator.fail(f"parts {lengths} do not make dimension {axis} of shape {list(shape)}")
    for output, length in zip(operator.outputs, lengths, strict=True):
        sizes = (*shape[:axis], length, *shape[axis + 1 :])
        rearrange(draft, operator, x, Loops(sizes, strides, begin * strides[axis]), output)
        begin += length


def _import_unpack(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Splits into parts of size one, without that dimension."""
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    axis = read.axis(operator, operator.options(tflite.UnpackOptions).Axis(), len(shape))
    strides = dense_strides(shape)
    if len(operator.outputs) != shape[axis]:
        raise operator.fail(f"{len(operator.outputs)} results do not match dimension {axis} of {list(shape)}")
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    for index, output in enumerate(operator.outputs):
        require_movable(draft, operator, x, output)
        rearrange(draft, operator, x, Loops(sizes, strides, index * strides[axis]), output)


def _import_transpose(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    order = [read.axis(operator, a, len(shape)) for a in read.integers(draft, operator, 1, "order")]
    if sorted(order) != list(range(len(shape))):
        raise operator.fail(f"order {order} does not fit shape {list(shape)}")
    strides = dense_strides(shape)
    loops = Loops(tuple(shape[a] for a in order), tuple(strides[a] for a in order))
    rearrange(draft, operator, x, loops, read.the_output(operator))


def _import_broadcast_to(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    output = read.the_output(operator)
    rearrange(draft, operator, x, repeated(operator, draft.types[x].shape, draft.types[output].shape), output)


def _import_pad(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Pads rows and columns of an image; any other dimension as the columns of a separate image."""
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    amounts = read.integers(draft, operator, 1, "padding")
    if len(amounts) != 2 * len(shape) or min(amounts, default=0) < 0:
        raise operator.fail(f"padding {list(amounts)} does not fit shape {list(shape)}")
    pairs = [(amounts[2 * a], amounts[2 * a + 1]) for a in range(len(shape))]
    value = _padding_value(draft, operator)
    if len(shape) == 4 and shape[0] == 1 and pairs[0] == pairs[3] == (0, 0):
        op = Pad((pairs[1], pairs[2]), value)
        draft.add_node(operator, op, (x,), read.the_output(operator))
        return
    _pad_each(draft, operator, x, pairs, value)


def _padding_value(draft: TfliteDraft, operator: TfliteOperator) -> float:
    """Returns the value as stored in the result; by default the stored form of 0."""
    if read.optional_operand(operator, 2) is not None:
        name = read.constant(draft, operator, 2, "value")
        require_movable(draft, operator, name, read.the_output(operator))
        return float(draft.constants[name].reshape(-1)[0])
    return _zero(draft.types[read.the_output(operator)])


def _zero(tensor: TensorType) -> float:
    """Returns 0 as it is stored."""
    return float(quant_of(tensor).zero_point) if tensor.quant is not None else 0.0


def _pad_each(draft: TfliteDraft, operator: TfliteOperator, x: str, pairs: list[Pair], value: float) -> None:
    """Pads one dimension after the other; the last one gives the result."""
    axes = [axis for axis, pair in enumerate(pairs) if pair != (0, 0)] or [0]
    for axis in axes[:-1]:
        x = _pad_one(draft, operator, x, axis, pairs[axis], value)
    tensor, axis = draft.types[x], axes[-1]
    image = _around(tensor.shape, axis)
    op = Pad(((0, 0), pairs[axis]), value)
    source = read.reshaped(draft, operator, x, image)
    whole = (*image[:2], image[2] + sum(pairs[axis]), image[3])
    read.reshaped_result(draft, operator, op, (source,), whole)


def _pad_one(
    draft: TfliteDraft, operator: TfliteOperator, x: str, axis: int, pair: Pair, value: float
) -> str:
    tensor = draft.types[x]
    image = _around(tensor.shape, axis)
    whole = (*image[:2], image[2] + sum(pair), image[3])
    padded = read.value_like(draft, f"{x}/padded", tensor, whole)
    draft.add_node(operator, Pad(((0, 0), pair), value), (read.reshaped(draft, operator, x, image),), padded)
    length = tensor.shape[axis] + sum(pair)
    return read.reshaped(draft, operator, padded, (*tensor.shape[:axis], length, *tensor.shape[axis + 1 :]))


def _import_reverse(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    turned, strides = read.axes(draft, operator, len(shape)), dense_strides(shape)
    offset = sum((shape[a] - 1) * strides[a] for a in turned)
    signed = tuple(-s if a in turned else s for a, s in enumerate(strides))
    rearrange(draft, operator, x, Loops(shape, signed, offset), read.the_output(operator))


def _import_tile(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    counts = read.integers(draft, operator, 1, "multiples")
    if len(counts) != len(shape) or min(counts, default=1) < 1:
        raise operator.fail(f"multiples {list(counts)} do not fit shape {list(shape)}")
    sizes = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    strides = tuple(n for s in dense_strides(shape) for n in (0, s))
    rearrange(draft, operator, x, Loops(sizes, strides), read.the_output(operator))


def _blocks(operator: TfliteOperator, size: int, *dimensions: int) -> int:
    if size < 1 or any(d % size for d in dimensions):
        raise operator.fail(f"blocks of {size} do not fit {list(dimensions)}", "the file looks corrupted")
    return size


def _import_depth_to_space(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x, image = read.image(draft, operator)
    n, height, width, depth = image.shape
    side = operator.options(tflite.DepthToSpaceOptions).BlockSize()
    _blocks(operator, side * side if side > 0 else 0, depth)
    whole = (n, height, width, side, side, depth // (side * side))
    _transposed(draft, operator, x, whole, (0, 1, 3, 2, 4, 5))


def _import_space_to_depth(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x, image = read.image(draft, operator)
    n, height, width, depth = image.shape
    side = _blocks(operator, operator.options(tflite.SpaceToDepthOptions).BlockSize(), height, width)
    _transposed(draft, operator, x, (n, height // side, side, width // side, side, depth), (0, 1, 3, 2, 4, 5))


def _transposed(
    draft: TfliteDraft, operator: TfliteOperator, x: str, shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    strides = dense_strides(shape)
    loops = Loops(tuple(shape[a] for a in order), tuple(strides[a] for a in order))
    rearrange(draft, operator, x, loops, read.the_output(operator))


def _import_batch_to_space(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Places blocks of batches side by side, then crops."""
    x = read.operand(operator, 0, "the data")
    shape = draft.types[x].shape
    blocks, crops = (read.integers(draft, operator, i, "blocks and crops") for i in (1, 2))
    count = len(blocks)
    if (
        len(crops) != 2 * count
        or count >= len(shape)
        or min(blocks, default=1) < 1
        or shape[0] % prod(blocks)
    ):
        raise operator.fail(f"blocks {list(blocks)}, crops {list(crops)} do not fit shape {list(shape)}")
    require_movable(draft, operator, x, read.the_output(operator))
    batch = shape[0] // prod(blocks)
    split = (*blocks, batch, *shape[1:])
    order = [count, *(n for a in range(count) for n in (count + 1 + a, a)), *range(2 * count + 1, len(split))]
    whole = (batch, *(b * d for b, d in zip(blocks, shape[1:], strict=False)), *shape[count + 1 :])
    full = read.value_like(draft, f"{x}/blocks", draft.types[x], whole)
    strides = dense_strides(split)
    loops = Loops(tuple(split[a] for a in order), tuple(strides[a] for a in order))
    rearrange(draft, operator, x, loops, full)
    sizes = list(whole)
    offset = 0
    for a in range(count):
        sizes[1 + a] -= crops[2 * a] + crops[2 * a + 1]
        offset += crops[2 * a] * dense_strides(whole)[1 + a]
    if min(sizes) < 1 or min(crops) < 0:
        raise operator.fail(f"crops {list(crops)} do not fit {list(whole)}")
    rearrange(
        draft, operator, full, Loops(tuple(sizes), dense_strides(whole), offset), read.the_output(operator)
    )


def _import_space_to_batch(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Pads to whole blocks, then makes each position within a block a separate batch."""
    x = read.operand(operator, 0, "the data")
    tensor = draft.types[x]
    blocks, pads = (read.integers(draft, operator, i, "blocks and padding") for i in (1, 2))
    count = len(blocks)
    if (
        len(pads) != 2 * count
        or count >= tensor.rank
        or min(blocks, default=1) < 1
        or min(pads, default=0) < 0
    ):
        raise operator.fail(f"blocks {list(blocks)}, padding {list(pads)} do not fit {list(tensor.shape)}")
    output = read.the_output(operator)
    require_movable(draft, operator, x, output)
    value = _zero(draft.types[output])
    for a in range(count):
        pair = (pads[2 * a], pads[2 * a + 1])
        x = x if pair == (0, 0) else _pad_one(draft, operator, x, 1 + a, pair, value)
    shape = draft.types[x].shape
    for block, size in zip(blocks, shape[1:], strict=False):
        _blocks(operator, block, size)
    parts = tuple(n for b, d in zip(blocks, shape[1:], strict=False) for n in (d // b, b))
    split = (shape[0], *parts, *shape[count + 1 :])
    order = (
        *(2 + 2 * a for a in range(count)),
        0,
        *(1 + 2 * a for a in range(count)),
        *range(2 * count + 1, len(split)),
    )
    _transposed(draft, operator, x, split, order)


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
