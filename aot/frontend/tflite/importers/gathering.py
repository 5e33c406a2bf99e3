"""Operators that select elements by index: GATHER and related ones, resizing, mirroring."""

from __future__ import annotations

from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.importers.rearranging import rearrange, require_movable
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import Array, DType, TensorType, dense_strides
from aot.ops.gather import Gather, GatherNd
from aot.ops.rearrange import Loops
from aot.ops.resize import Resize
from aot.ops.update_slice import UpdateSlice


def _import_gather(node: TfliteOperator) -> None:
    options = node.options(tflite.GatherOptions)
    x, indices = node.operand(0, "the data"), node.operand(1, "the indices")
    rank, batches = node.tensor(x).rank, options.BatchDims()
    axis, place = node.axis(options.Axis(), rank), node.draft.constants.get(indices)
    sizes = node.tensor(x).shape
    node.require_inside(place, sizes[axis])
    if place is not None and place.size == 1 and not batches:  # like a loop that reads one row per iteration
        strides = dense_strides(sizes)
        number = int(place.reshape(-1)[0])
        taken = Loops((*sizes[:axis], 1, *sizes[axis + 1 :]), strides, number * strides[axis])
        rearrange(node, x, taken, node.the_output)
        return
    op = Gather(axis, _batch_dimensions(node, batches, node.tensor(indices).rank))
    node.add_node(op, (x, indices), node.the_output)


def _batch_dimensions(node: TfliteOperator, number: int, rank: int) -> int:
    """Returns how many leading dimensions data and indices share, at most all of the indices."""
    return number if number == rank else node.axis(number, rank) if number else 0


def _import_embedding_lookup(node: TfliteOperator) -> None:
    indices, table = node.operand(0, "the indices"), node.operand(1, "the table")
    node.require_inside(node.draft.constants.get(indices), node.tensor(table).shape[0])
    node.add_node(Gather(0), (table, indices), node.the_output)


def _import_gather_nd(node: TfliteOperator) -> None:
    x, indices = node.operand(0, "the data"), node.operand(1, "the indices")
    places = node.draft.constants.get(indices)
    for axis, size in enumerate(node.tensor(x).shape):
        node.require_inside(None if places is None else places[..., axis : axis + 1], size)
    node.add_node(GatherNd(), (x, indices), node.the_output)


def _import_update_slice(node: TfliteOperator) -> None:
    node.add_node(UpdateSlice(), node.inputs, node.the_output)


def gathered(node: TfliteOperator, x: str, along: dict[int, Array], output: str) -> None:
    """Selects elements by constant indices along some axes; the last selection gives the output."""
    axes = sorted(along)
    for axis in axes:
        indices = along[axis].astype(np.int32)
        name = node.add_value(f"{output}/indices", TensorType(DType.I32, indices.shape), indices)
        shape = node.tensor(x).shape
        wanted = (*shape[:axis], indices.size, *shape[axis + 1 :])
        is_last = axis == axes[-1]
        made = output if is_last else node.value_like(f"{output}/part", node.tensor(x), wanted)
        node.add_node(Gather(axis), (x, name), made)
        x = made


def _import_mirror_pad(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    shape, amounts = node.tensor(x).shape, node.integers(1, "padding")
    require_movable(node, x, node.the_output)
    skip = 1 if node.options(tflite.MirrorPadOptions).Mode() == tflite.MirrorPadMode.REFLECT else 0
    if len(amounts) != 2 * len(shape) or min(amounts, default=0) < 0:
        raise node.fail(f"padding {list(amounts)} does not fit shape {list(shape)}")
    pairs = {axis: (amounts[2 * axis], amounts[2 * axis + 1]) for axis in range(len(shape))}
    for axis, pair in pairs.items():
        if max(pair) > shape[axis] - skip:
            raise node.fail(f"padding {list(pair)} is more than mirroring {shape[axis]} elements can fill")
    along = {axis: _mirrored(shape[axis], pair, skip) for axis, pair in pairs.items() if pair != (0, 0)}
    gathered(node, x, along or {0: np.arange(shape[0])}, node.the_output)


def _mirrored(size: int, pair: tuple[int, int], skip: int) -> Array:
    """Returns the positions of a dimension with mirrored margins; `skip` leaves out the edge itself."""
    places = np.arange(size)
    before, after = places[skip : skip + pair[0]][::-1], places[: size - skip][::-1][: pair[1]]
    return np.concatenate((before, places, after))


def _import_resize_nearest(node: TfliteOperator) -> None:
    options = node.options(tflite.ResizeNearestNeighborOptions)
    x, x_type = node.image()
    output = node.the_output
    sizes = node.with_rank(output, 4).shape[1:3]
    along = {
        axis: _nearest(x_type.shape[axis], size, options.AlignCorners(), options.HalfPixelCenters())
        for axis, size in zip((1, 2), sizes, strict=True)
    }
    gathered(node, x, along, output)


def _nearest(size: int, wanted: int, align_corners: bool, half_pixels: bool) -> Array:
    """Returns the nearest source position for each result, in single precision like the reference."""
    aligned = align_corners and wanted > 1
    scale = (
        np.float32(size - 1) / np.float32(wanted - 1) if aligned else np.float32(size) / np.float32(wanted)
    )
    places = (np.arange(wanted).astype(np.float32) + np.float32(0.5 if half_pixels else 0)) * scale
    chosen = np.floor(places + np.float32(0.5)) if align_corners else np.floor(places)
    return np.asarray(np.clip(chosen.astype(np.int64), 0, size - 1))


def _import_resize_bilinear(node: TfliteOperator) -> None:
    options = node.options(tflite.ResizeBilinearOptions)
    x = node.operand(0, "the image")
    node.with_rank(x, 4)
    output = node.the_output
    _, height, width, _ = node.tensor(output).shape if node.tensor(output).rank == 4 else (0, 0, 0, 0)
    op = Resize(
        (height, width),
        bool(options.AlignCorners()),
        bool(options.HalfPixelCenters()),
        output in node.draft.unsigned,
    )
    node.add_node(op, (x,), output)


GATHERING: dict[str, Importer] = {
    "DYNAMIC_UPDATE_SLICE": _import_update_slice,
    "EMBEDDING_LOOKUP": _import_embedding_lookup,
    "GATHER": _import_gather,
    "GATHER_ND": _import_gather_nd,
    "MIRROR_PAD": _import_mirror_pad,
    "RESIZE_BILINEAR": _import_resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": _import_resize_nearest,
}


# REVERSE_SEQUENCE: reverses the start of each sequence, with constant lengths.


def _import_reverse_sequence(node: TfliteOperator) -> None:
    """Selects along time if all lengths are equal; otherwise selects rows of batch and time, flattened."""
    options = node.options(tflite.ReverseSequenceOptions)
    x, output = node.operand(0, "the data"), node.the_output
    shape = node.tensor(x).shape
    time, batch = (node.axis(n, len(shape)) for n in (options.SeqDim(), options.BatchDim()))
    lengths = node.integers(1, "lengths of the sequences")
    if time == batch or len(lengths) != shape[batch] or not all(0 <= n <= shape[time] for n in lengths):
        raise node.fail(
            f"lengths {list(lengths)} do not fit dimensions {batch} and {time} of shape {list(shape)}",
            "the file looks corrupted: get or convert it again",
        )
    if len(set(lengths)) == 1:
        gathered(node, x, {time: _places(lengths[0], shape[time])}, output)
        return
    order = (batch, time, *(axis for axis in range(len(shape)) if axis not in (batch, time)))
    front = tuple(shape[axis] for axis in order)
    rows = (shape[batch] * shape[time], prod(front[2:]))
    places = [number * shape[time] + _places(n, shape[time]) for number, n in enumerate(lengths)]
    moved = node.value_like(f"{output}/front", node.tensor(x), front)
    picked = node.value_like(f"{output}/rows", node.tensor(x), rows)
    strides = dense_strides(shape)
    rearrange(node, x, Loops(front, tuple(strides[axis] for axis in order)), moved)
    flat = node.reshaped(moved, rows)
    gathered(node, flat, {0: np.concatenate(places)}, picked)
    steps = dense_strides(front)
    back = Loops(shape, tuple(steps[order.index(axis)] for axis in range(len(shape))))
    rearrange(node, picked, back, output)


def _places(length: int, size: int) -> Array:
    """Returns the positions of a sequence whose first elements are reversed."""
    return np.concatenate((np.arange(length)[::-1], np.arange(length, size)))


REVERSED_SEQUENCES: dict[str, Importer] = {"REVERSE_SEQUENCE": _import_reverse_sequence}
