"""RoiAlign and DeformConv: weighted pixels at positions computed in the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.importers.padding import SpatialWindows, read_windows
from aot.frontend.onnx.importers.real import Real
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import dense_strides
from aot.ops.gather import Gather

_CHANNELS_LAST = (0, 2, 3, 1)
_MOST_PARTS = 256  # of a region along a dimension


@dataclass(frozen=True)
class _BilinearTap:
    """One of the two pixels next to a position along a dimension, and its weight."""

    place: Real
    share: Real


@dataclass(frozen=True)
class _Pixels:
    """Images as rows of channels: `name` is [images * rows * columns, channels]."""

    node: OnnxOperator
    name: str
    sizes: tuple[int, int]
    first: Value | None  # int32: start of the image of each position; None for a single image

    def seen(self, rows: _BilinearTap, columns: _BilinearTap) -> Real:
        """Returns pixels times their weights; the weights' shape is followed by the channels."""
        node = self.node
        places = (cast(node, tap.place.value, TensorProto.INT32) for tap in (rows, columns))
        row, column = places
        spot = node.do("Add", node.do("Mul", row, node.number(self.sizes[1], TensorProto.INT32)), column)
        spot = spot if self.first is None else node.do("Add", spot, self.first)
        share = (rows.share * columns.share).value
        found = node.value(node.apply(Gather(0), self.name, node.plain(spot)), share.element)
        last = node.number([len(share.order)], TensorProto.INT64)
        return Real(node, found) * Real(node, node.do("Unsqueeze", share, last))


def _pixels(node: OnnxOperator, x: Value, images: Value | None) -> _Pixels:
    """Returns the images as rows; `images` are the image numbers of the positions."""
    n, channels, height, width = node.shape(x)
    name = node.draft.stored(node.place, x, _CHANNELS_LAST)
    flat = node.reshaped(name, (n * height * width, channels))
    if n == 1 or images is None:
        return _Pixels(node, flat, (height, width), None)
    whole = cast(node, images, TensorProto.INT32)
    first = node.do("Mul", whole, node.number(height * width, TensorProto.INT32))
    return _Pixels(node, flat, (height, width), first)


def _roi_align(node: OnnxOperator) -> Value:
    """Resizes regions of an image: mean or maximum of the samples in each part."""
    x, rois, count = node.operand(0), node.shape(node.operand(1)), sum(node.shape(node.operand(1))[:1])
    sizes = node.integer("output_height", 1), node.integer("output_width", 1)
    each, mode = node.integer("sampling_ratio", 0), node.text("mode", "avg")
    if len(node.shape(x)) != 4 or rois != (count, 4) or not 0 < min(sizes) <= max(sizes) <= _MOST_PARTS:
        raise node.fail(f"regions {list(rois)} in {sizes[0]} x {sizes[1]} parts are not supported")
    if not 0 < each <= _MOST_PARTS or mode not in ("avg", "max"):
        raise node.fail(
            f"{each} samples (sampling_ratio) by {mode} are not supported, the number must be constant",
            "export the model with sampling_ratio=2",
        )
    images = node.value(node.reshaped(node.plain(node.operand(2)), (count, 1, 1)), node.operand(2).element)
    pixels = _pixels(node, x, images)
    along = [_samples(node, pixels.sizes[d], sizes[d], each, d) for d in range(2)]
    parts = [pixels.seen(*taps) for taps in product(*along)]
    if mode == "max":  # of the weighted pixels, not their sums, as in the standard
        whole = reduce(lambda a, b: Real(node, node.do("Max", a.value, b.value)), parts)
    else:
        whole = reduce(Real.__add__, parts)
    split = (count, sizes[0], each, sizes[1], each, node.shape(x)[1])
    squares = node.value(node.reshaped(node.plain(whole.value), split), x.element)
    made = node.do("ReduceMax" if mode == "max" else "ReduceMean", squares, axes=[2, 4], keepdims=0)
    return Value(node.plain(made), _CHANNELS_LAST, x.element)


def _samples(node: OnnxOperator, size: int, parts: int, each: int, dimension: int) -> list[_BilinearTap]:
    """Returns [regions, samples], with a dimension of 1 for the other direction's samples."""
    rois, scale = node.operand(1), node.real("spatial_scale", 1.0)
    is_half = node.version >= 16 and node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    begin, end = (
        Real(node, sliced(node, rois, {1: range(c, c + 1)})) * scale - (0.5 if is_half else 0.0)
        for c in (1 - dimension, 3 - dimension)
    )
    length = end - begin
    length = length if is_half else length.at_least(1.0)
    spots = (np.arange(parts * each) + 0.5) / (each * parts)
    places = length * Real(node, node.number(spots[np.newaxis], rois.element)) + begin
    added = node.number([2 - dimension], TensorProto.INT64)
    return _inside_taps(Real(node, node.do("Unsqueeze", places.value, added)), size)


def _inside_taps(place: Real, size: int) -> list[_BilinearTap]:
    """Clamps up to one pixel outside the first and last; beyond that the weight is 0."""
    seen = place.within(-1.0, float(size))
    inner = place.at_least(0.0).at_most(size - 1)
    first = inner.one("Floor")
    rest = inner - first
    return [
        _BilinearTap(first, (rest * -1.0 + 1.0) * seen),
        _BilinearTap((first + 1.0).at_most(size - 1), rest * seen),
    ]


def _deform_conv(node: OnnxOperator) -> Value:
    """Convolves with taps moved by offsets."""
    x, w, offsets = (node.operand(i) for i in range(3))
    shape, w_shape = node.shape(x), node.shape(w)
    groups, parts = node.integer("group", 1), node.integer("offset_group", 1)
    if len(shape) != 4 or len(w_shape) != 4:
        raise node.fail(f"weights {list(w_shape)} over shape {list(shape)} are not supported, only images")
    windows = read_windows(node, shape[2:], w_shape[2:])
    padded = [n + sum(p) for n, p in zip(shape[2:], windows.padding, strict=True)]
    outputs, taps = windows.output_sizes(tuple(padded)), prod(w_shape[2:])
    if min(groups, parts) < 1 or shape[1] % parts or w_shape[1] * groups != shape[1] or w_shape[0] % groups:
        raise node.fail(f"{groups} and {parts} groups do not fit {shape[1]} channels")
    if node.shape(offsets) != (shape[0], parts * taps * 2, *outputs):
        raise node.fail(f"offsets {list(node.shape(offsets))} do not fit results of {list(outputs)}")
    columns = concatenated(node, [_deformed(node, windows, outputs, n, parts) for n in range(parts)], 4)
    depth = w_shape[1] * taps
    turned = node.do("Transpose", columns, perm=[0, 4, 1, 2, 3])
    stacked = node.reshaped(node.plain(turned), (shape[0], groups, depth, prod(outputs)))
    weights = node.reshaped(node.plain(w), (1, groups, w_shape[0] // groups, depth))
    sums = node.do("MatMul", node.value(weights, w.element), node.value(stacked, x.element))
    made = node.value(node.reshaped(node.plain(sums), (shape[0], w_shape[0], *outputs)), x.element)
    if not node.has(3):
        return made
    bias = node.reshaped(node.plain(node.operand(3)), (w_shape[0], 1, 1))
    return node.do("Add", made, node.value(bias, x.element))


def _deformed(
    node: OnnxOperator, windows: SpatialWindows, outputs: tuple[int, ...], number: int, parts: int
) -> Value:
    """Returns the pixels at the taps of one group of channels: [images, taps, rows, columns, channels]."""
    x, offsets = node.operand(0), node.operand(2)
    n, channels = node.shape(x)[:2]
    each, taps = channels // parts, prod(windows.sizes)
    images = node.number(np.arange(n).reshape(n, 1, 1, 1), TensorProto.INT32)
    own = sliced(node, x, {1: range(number * each, (number + 1) * each)})
    pixels = _pixels(node, own, images)
    grid = _own(node, offsets, (n, parts, taps, 2, *outputs), number)
    along = [_axis_taps(node, grid, windows, outputs, d, pixels.sizes[d]) for d in range(2)]
    total = reduce(Real.__add__, (pixels.seen(*pair) for pair in product(*along)))
    if node.has(4):
        mask = _own(node, node.operand(4), (n, parts, taps, *outputs), number)
        total = total * Real(node, node.do("Unsqueeze", mask, node.number([4], TensorProto.INT64)))
    return total.value


def _own(node: OnnxOperator, x: Value, shape: tuple[int, ...], number: int) -> Value:
    """Returns one of the groups, which are the second dimension."""
    split = node.value(node.reshaped(node.plain(x), shape), x.element)
    one = sliced(node, split, {1: range(number, number + 1)})
    return node.do("Squeeze", one, node.number([1], TensorProto.INT64))


def _axis_taps(
    node: OnnxOperator,
    grid: Value,
    windows: SpatialWindows,
    outputs: tuple[int, ...],
    dimension: int,
    size: int,
) -> list[_BilinearTap]:
    """Returns samples at the grid [images, taps, 2, rows, columns]; 0 outside the image."""
    offset = sliced(node, grid, {2: range(dimension, dimension + 1)})
    moved = Real(node, node.do("Squeeze", offset, node.number([2], TensorProto.INT64)))
    tap = np.indices(windows.sizes)[dimension].reshape(1, -1, 1, 1) * windows.dilations[dimension]
    spot = np.arange(outputs[dimension]) * windows.strides[dimension] - windows.padding[dimension][0]
    regular = tap + spot.reshape((1, 1, -1, 1) if dimension == 0 else (1, 1, 1, -1))
    place = moved + Real(node, node.number(regular, grid.element))
    first = place.one("Floor")
    rest = place - first
    return [_bounded(first, rest * -1.0 + 1.0, size), _bounded(first + 1.0, rest, size)]


def _bounded(place: Real, share: Real, size: int) -> _BilinearTap:
    return _BilinearTap(place.at_least(0.0).at_most(size - 1), share * place.within(0.0, size - 1))


REGIONS: Mapping[str, Importer] = {"DeformConv": _deform_conv, "RoiAlign": _roi_align}


# GridSample: pixels around computed positions, gathered and weighted.


_MODES = {"bilinear": "linear", "bicubic": "cubic"}  # names before set 20
_CUBIC = -0.75


@dataclass(frozen=True)
class _SampledTap:
    """A pixel along one dimension: its position and its weight, 0 outside the image."""

    place: Real
    share: Real


def _grid_sample(node: OnnxOperator) -> Value:
    x, grid = node.operand(0), node.operand(1)
    shape, places = node.shape(x), node.shape(grid)
    count = len(shape) - 2
    mode = node.text("mode", "linear")
    taps_of = _TAPS.get(_MODES.get(mode, mode))
    if taps_of is None or len(places) != count + 2 or places[-1] != count or places[0] != shape[0]:
        raise node.fail(f'mode "{mode}" over places {list(places)} of shape {list(shape)} is not supported')
    along = [
        taps_of(_Axis(node, size), _coordinate(node, grid, count - 1 - d, size))
        for d, size in enumerate(shape[2:])
    ]
    order = (0, *range(2, len(shape)), 1)
    pixels = node.reshaped(node.draft.stored(node.place, x, order), (shape[0], prod(shape[2:]), shape[1]))
    total = reduce(Real.__add__, (_weighted(node, pixels, taps, shape) for taps in product(*along)))
    return Value(node.plain(total.value), order, x.element)


def _coordinate(node: OnnxOperator, grid: Value, column: int, size: int) -> Real:
    """Converts a coordinate from -1..1 to pixels."""
    last = len(node.shape(grid)) - 1
    part = sliced(node, grid, {last: range(column, column + 1)})
    g = Real(node, node.do("Squeeze", part, node.number([last], TensorProto.INT64)))
    if node.integer("align_corners", 0):
        return (g + 1.0) * ((size - 1) / 2)
    return (g + 1.0) * (size / 2) - 0.5


@dataclass(frozen=True)
class _Axis:
    """One dimension, and its handling of positions outside."""

    node: OnnxOperator
    size: int

    @property
    def beyond(self) -> str:
        return self.node.text("padding_mode", "zeros")

    def inside(self, place: Real) -> Real:
        """Moves positions inside the image; zero padding leaves them outside."""
        if self.beyond == "border":
            return place.at_least(0.0).at_most(self.size - 1)
        return self.reflected(place) if self.beyond == "reflection" else place

    def reflected(self, place: Real) -> Real:
        half = 0.0 if self.node.integer("align_corners", 0) else 0.5
        length = self.size - 1 + 2 * half
        if length == 0:
            return place * 0.0
        turned = (place + half).one("Abs").in_turns(2 * length)
        return ((turned - length).one("Abs") * -1.0 + length) - half

    def tap(self, place: Real, share: Real | None) -> _SampledTap:
        """Returns the tap at an integer position."""
        inner = self.inside(place).at_least(0.0).at_most(self.size - 1)
        if self.beyond == "zeros":
            seen = place.within(0.0, self.size - 1)
            return _SampledTap(inner, seen if share is None else seen * share)
        return _SampledTap(inner, place * 0.0 + 1.0 if share is None else share)


def _nearest(axis: _Axis, place: Real) -> list[_SampledTap]:
    return [axis.tap(axis.inside(place).one("Round"), None)]


def _linear(axis: _Axis, place: Real) -> list[_SampledTap]:
    place = axis.inside(place)
    first = place.one("Floor")
    rest = place - first
    return [axis.tap(first, rest * -1.0 + 1.0), axis.tap(first + 1.0, rest)]


def _cubic(axis: _Axis, place: Real) -> list[_SampledTap]:
    place = axis.inside(place)
    first = place.one("Floor")
    rest = place - first
    shares = [
        _far(rest + 1.0),
        _near(rest),
        _near(rest * -1.0 + 1.0),
        _far(rest * -1.0 + 2.0),
    ]
    return [axis.tap(first + float(n - 1), share) for n, share in enumerate(shares)]


def _near(d: Real) -> Real:
    """Returns the cubic weight of a pixel up to one pixel away."""
    return ((d * (_CUBIC + 2)) - (_CUBIC + 3)) * d * d + 1.0


def _far(d: Real) -> Real:
    """Returns the cubic weight of a pixel one to two pixels away."""
    return (((d * _CUBIC) - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC


_TAPS = {"cubic": _cubic, "linear": _linear, "nearest": _nearest}


def _weighted(node: OnnxOperator, pixels: str, taps: tuple[_SampledTap, ...], shape: tuple[int, ...]) -> Real:
    """Returns the sampled pixels as [N, places, C]."""
    steps = dense_strides(shape[2:])
    place = reduce(Real.__add__, (t.place * float(s) for t, s in zip(taps, steps, strict=True)))
    share = reduce(Real.__mul__, (t.share for t in taps))
    indices = cast(node, place.value, TensorProto.INT32)
    found = node.value(node.apply(Gather(1, 1), pixels, node.plain(indices)), share.value.element)
    column = node.number([len(node.shape(share.value))], TensorProto.INT64)
    return Real(node, found) * Real(node, node.do("Unsqueeze", share.value, column))


SAMPLING: Mapping[str, Importer] = {"GridSample": _grid_sample}
