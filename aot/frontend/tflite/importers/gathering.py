"""Operators that select elements by index: GATHER and related ones, resizing, mirroring."""

from __future__ import annotations

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.other_scales import require_movable
from aot.frontend.tflite.importers.rearranging import rearrange
from aot.ir.strides import dense_strides
from aot.ir.types import Array, DType, TensorType
from aot.ops.gather import Gather, GatherNd
from aot.ops.rearrange import Loops
from aot.ops.resize import Resize
from aot.ops.update_slice import UpdateSlice


def _import_gather(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.GatherOptions)
    x, indices = read.operand(operator, 0, "the data"), read.operand(operator, 1, "the indices")
    rank, batches = draft.types[x].rank, options.BatchDims()
    axis, place = read.axis(operator, options.Axis(), rank), draft.constants.get(indices)
    sizes = draft.types[x].shape
    operator.require_inside(place, sizes[axis])
    if place is not None and place.size == 1 and not batches:  # like a loop that reads one row per iteration
        strides = dense_strides(sizes)
        number = int(place.reshape(-1)[0])
        taken = Loops((*sizes[:axis], 1, *sizes[axis + 1 :]), strides, number * strides[axis])
        rearrange(draft, operator, x, taken, read.the_output(operator))
        return
    op = Gather(axis, _batch_dimensions(operator, batches, draft.types[indices].rank))
    draft.add_node(operator, op, (x, indices), read.the_output(operator))


def _batch_dimensions(operator: TfliteOperator, number: int, rank: int) -> int:
    """Returns how many leading dimensions data and indices share, at most all of the indices."""
    return number if number == rank else read.axis(operator, number, rank) if number else 0


def _import_embedding_lookup(draft: TfliteDraft, operator: TfliteOperator) -> None:
    indices, table = read.operand(operator, 0, "the indices"), read.operand(operator, 1, "the table")
    operator.require_inside(draft.constants.get(indices), draft.types[table].shape[0])
    draft.add_node(operator, Gather(0), (table, indices), read.the_output(operator))


def _import_gather_nd(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x, indices = read.operand(operator, 0, "the data"), read.operand(operator, 1, "the indices")
    places = draft.constants.get(indices)
    for axis, size in enumerate(draft.types[x].shape):
        operator.require_inside(None if places is None else places[..., axis : axis + 1], size)
    draft.add_node(operator, GatherNd(), (x, indices), read.the_output(operator))


def _import_update_slice(draft: TfliteDraft, operator: TfliteOperator) -> None:
    draft.add_node(operator, UpdateSlice(), operator.inputs, read.the_output(operator))


def gathered(
    draft: TfliteDraft, operator: TfliteOperator, x: str, along: dict[int, Array], output: str
) -> None:
    """Selects elements by constant indices along some axes; the last selection gives the output."""
    axes = sorted(along)
    for axis in axes:
        indices = along[axis].astype(np.int32)
        name = draft.add_value(f"{output}/indices", TensorType(DType.I32, indices.shape), indices)
        shape = draft.types[x].shape
        wanted = (*shape[:axis], indices.size, *shape[axis + 1 :])
        is_last = axis == axes[-1]
        made = output if is_last else read.value_like(draft, f"{output}/part", draft.types[x], wanted)
        draft.add_node(operator, Gather(axis), (x, name), made)
        x = made


def _import_mirror_pad(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    shape, amounts = draft.types[x].shape, read.integers(draft, operator, 1, "padding")
    require_movable(draft, operator, x, read.the_output(operator))
    skip = 1 if operator.options(tflite.MirrorPadOptions).Mode() == tflite.MirrorPadMode.REFLECT else 0
    if len(amounts) != 2 * len(shape) or min(amounts, default=0) < 0:
        raise operator.fail(f"padding {list(amounts)} does not fit shape {list(shape)}")
    pairs = {axis: (amounts[2 * axis], amounts[2 * axis + 1]) for axis in range(len(shape))}
    for axis, pair in pairs.items():
        if max(pair) > shape[axis] - skip:
            raise operator.fail(
                f"padding {list(pair)} is more than mirroring {shape[axis]} elements can fill"
            )
    along = {axis: _mirrored(shape[axis], pair, skip) for axis, pair in pairs.items() if pair != (0, 0)}
    gathered(draft, operator, x, along or {0: np.arange(shape[0])}, read.the_output(operator))


def _mirrored(size: int, pair: tuple[int, int], skip: int) -> Array:
    """Returns the positions of a dimension with mirrored margins; `skip` leaves out the edge itself."""
    places = np.arange(size)
    before, after = places[skip : skip + pair[0]][::-1], places[: size - skip][::-1][: pair[1]]
    return np.concatenate((before, places, after))


def _import_resize_nearest(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.ResizeNearestNeighborOptions)
    x, x_type = read.image(draft, operator)
    output = read.the_output(operator)
    sizes = read.with_rank(draft, operator, output, 4).shape[1:3]
    along = {
        axis: _nearest(x_type.shape[axis], size, options.AlignCorners(), options.HalfPixelCenters())
        for axis, size in zip((1, 2), sizes, strict=True)
    }
    gathered(draft, operator, x, along, output)


def _nearest(size: int, wanted: int, align_corners: bool, half_pixels: bool) -> Array:
    """Returns the nearest source position for each result, in single precision like the reference."""
    aligned = align_corners and wanted > 1
    scale = (
        np.float32(size - 1) / np.float32(wanted - 1) if aligned else np.float32(size) / np.float32(wanted)
    )
    places = (np.arange(wanted).astype(np.float32) + np.float32(0.5 if half_pixels else 0)) * scale
    chosen = np.floor(places + np.float32(0.5)) if align_corners else np.floor(places)
    return np.asarray(np.clip(chosen.astype(np.int64), 0, size - 1))


def _import_resize_bilinear(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.ResizeBilinearOptions)
    x = read.operand(operator, 0, "the image")
    read.with_rank(draft, operator, x, 4)
    output = read.the_output(operator)
    _, height, width, _ = draft.types[output].shape if draft.types[output].rank == 4 else (0, 0, 0, 0)
    op = Resize(
        (height, width),
        bool(options.AlignCorners()),
        bool(options.HalfPixelCenters()),
        output in draft.unsigned,
    )
    draft.add_node(operator, op, (x,), output)


GATHERING: dict[str, Importer] = {
    "DYNAMIC_UPDATE_SLICE": _import_update_slice,
    "EMBEDDING_LOOKUP": _import_embedding_lookup,
    "GATHER": _import_gather,
    "GATHER_ND": _import_gather_nd,
    "MIRROR_PAD": _import_mirror_pad,
    "RESIZE_BILINEAR": _import_resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": _import_resize_nearest,
}
