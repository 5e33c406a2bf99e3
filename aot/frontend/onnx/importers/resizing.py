"""Resize: along each dimension a weighted sum of few elements, or a product with a matrix of weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import DType, dense_strides
from aot.ops.gather import Gather
from aot.ops.rearrange import Loops
from aot.ops.resize import Resize, between_reals

_PIXELS = (0, 2, 3, 1)  # channels-last order of an image's dimensions
FloatArray = npt.NDArray[np.float64]
Singles = npt.NDArray[Any]  # of float32
MAX_SHARES = 1 << 20  # elements of one matrix
_NEARLY = 1e-6  # tolerance of ONNX Runtime for a position halfway between two elements
_MOST_TAPS = 4  # largest number of elements in a weighted sum


def _resize(node: OnnxOperator) -> Value:
    """Resizes; weighted integers are summed as floats and truncated."""
    x = node.operand(0)
    if node.text("mode", "nearest") == "nearest" or node.dtype(x) is DType.F32:
        return _resized(node, x)
    return cast(node, _resized(node, cast(node, x, TensorProto.FLOAT)), x.element)


def _resized(node: OnnxOperator, x: Value) -> Value:
    shape = node.shape(x)
    axes = [node.axis(a, len(shape)) for a in node.integers("axes", tuple(range(len(shape))))]
    sizes, scales = _target(node, shape, axes)
    outside = np.zeros((1,) * len(shape), np.bool_)
    every: dict[int, FloatArray] = {}
    is_cropped = _transformation(node) == "tf_crop_and_resize"
    is_smoothed = bool(node.integer("antialias", 0))
    # As in ONNX Runtime: an image that keeps all its sizes is copied, whatever the scales are. Otherwise, a
    # dimension that keeps its size is skipped without a scale, and by an antialiasing filter.
    if not is_cropped and sizes == [shape[axis] for axis in axes]:
        return x
    for number, axis in enumerate(axes):
        is_kept = sizes[number] == shape[axis] and (scales[number] == 1 or is_smoothed)
        if is_kept and not is_cropped:
            continue
        if not 0 < sizes[number] * shape[axis] <= MAX_SHARES:
            raise node.fail(
                f"a resize from {shape[axis]} to {sizes[number]} elements is not supported",
                f"the product of both must be 1 to {MAX_SHARES:,}",
            )
        region = _region(node, number, len(axes))
        places = _places(node, shape[axis], sizes[number], scales[number], region)
        every[axis] = _shares(node, places, shape[axis], scales[number])
        along = [-1 if a == axis else 1 for a in range(len(shape))]
        outside = outside | ((places < 0) | (places > shape[axis] - 1)).reshape(along)
    image = _as_image(node, x, every)
    if image is not None:
        return image
    for axis, shares in every.items():
        x = _multiplied(node, x, axis, shares)
    if is_cropped and outside.any():
        value = node.number(node.real("extrapolation_value", 0.0), x.element)
        return node.do("Where", node.number(outside, TensorProto.BOOL), value, x)
    return x


def _as_image(node: OnnxOperator, x: Value, every: Mapping[int, FloatArray]) -> Value | None:
    """Resizes with one op, if the weights match and the image is stored channels last; else None."""
    is_linear = node.text("mode", "nearest") == "linear" and node.dtype(x) is DType.F32
    if not is_linear or not every or not set(every) <= {2, 3} or not node.draft.is_stored(x, _PIXELS):
        return None
    _, _, height, width = node.shape(x)
    size = tuple(len(every[a]) if a in every else n for a, n in ((2, height), (3, width)))
    for corners, centres in ((False, True), (True, False), (False, False)):
        op = Resize((size[0], size[1]), corners, centres)
        if all(np.allclose(_shares_of(op, node.shape(x), axis), found) for axis, found in every.items()):
            return Value(node.apply(op, node.draft.stored(node.place, x, _PIXELS)), _PIXELS, x.element)
    return None


def _shares_of(op: Resize, shape: tuple[int, ...], axis: int) -> FloatArray:
    """Returns the op's weights for each row (axis 2) or column of a planar image of that shape."""
    length, wanted = shape[axis], op.size[axis - 2]
    between = between_reals(length, wanted, op.align_corners, op.half_pixels)
    shares = np.zeros((wanted, length))
    np.add.at(shares, (np.arange(wanted), between.first), 1 - between.share)
    np.add.at(shares, (np.arange(wanted), between.second), between.share)
    return shares


def _target(node: OnnxOperator, shape: tuple[int, ...], axes: list[int]) -> tuple[list[int], list[float]]:
    """Returns sizes and scales along the axes."""
    if node.has(3):
        sizes = list(node.known_integers(3, "sizes"))
        if len(sizes) != len(axes):
            raise node.fail(f"sizes {sizes} do not fit {len(axes)} dimensions")
        scales = [size / shape[a] for size, a in zip(sizes, axes, strict=True)]
        policy = node.text("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            one = np.float32(min(scales) if policy == "not_larger" else max(scales))
            scales = [float(one)] * len(axes)
            sizes = [math.floor(one * np.float32(shape[a]) + 0.5) for a in axes]
        return sizes, scales
    position = 1 if node.version < 11 or node.proto.op_type == "Upsample" else 2
    if node.has_attribute("scales"):
        scales = list(node.floats("scales"))
    else:
        scales = [float(v) for v in node.known(position, "scales").reshape(-1)]
    if len(scales) != len(axes) or not all(0 < scale < math.inf for scale in scales):
        raise node.fail(f"scales {scales} do not fit {len(axes)} dimensions")
    return [int(np.float32(shape[a]) * np.float32(s)) for s, a in zip(scales, axes, strict=True)], scales


def _region(node: OnnxOperator, number: int, count: int) -> tuple[float, float]:
    if not node.has(1) or _transformation(node) != "tf_crop_and_resize":
        return 0.0, 1.0
    region = node.known(1, "region").reshape(-1)
    return float(region[number]), float(region[number + count])


def _transformation(node: OnnxOperator) -> str:
    return node.text("coordinate_transformation_mode", "half_pixel" if node.version >= 11 else "asymmetric")


def _places(
    node: OnnxOperator, length: int, size: int, scale: float, region: tuple[float, float]
) -> FloatArray:
    """Returns the input position of each result element, in single precision like ONNX Runtime.

    Corners are those of existing elements: a scale times a length may not be an integer.
    """
    mode = _transformation(node)
    if mode not in _PLACES:
        raise node.fail(
            f'coordinate transformation "{mode}" is not supported', f"{', '.join(_PLACES)} are supported"
        )
    i = np.arange(size, dtype=np.float32)
    found = _PLACES[mode](i, _Stretch(length, size, np.float32(scale), *map(np.float32, region)))
    return np.asarray(found, np.float32).astype(np.float64)


@dataclass(frozen=True)
class _Stretch:
    """Maps elements of one dimension to others; `start` and `end` are a region of the input, 0 to 1."""

    length: int
    size: int
    scale: np.float32
    start: np.float32
    end: np.float32


def _corners(i: Singles, of: _Stretch) -> Any:
    return i * np.float32(of.length - 1) / np.float32(of.size - 1) if of.size > 1 else i


def _cropped(i: Singles, of: _Stretch) -> Any:
    last = np.float32(of.length - 1)
    if of.size == 1:
        return np.float32(0.5) * (of.start + of.end) * last + i
    return of.start * last + i * (of.end - of.start) * last / np.float32(of.size - 1)


def _half_pixels(i: Singles, of: _Stretch) -> Any:
    return (i + _HALF) / of.scale - _HALF


def _symmetric(i: Singles, of: _Stretch) -> Any:
    adjustment = np.float32(of.size) / (of.scale * np.float32(of.length))
    return np.float32(of.length) / 2 * (1 - adjustment) + _half_pixels(i, of)


_HALF = np.float32(0.5)
_PLACES: Mapping[str, Callable[[Singles, _Stretch], Any]] = {
    "align_corners": _corners,
    "asymmetric": lambda i, of: i / of.scale,
    "half_pixel": _half_pixels,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda i, of: _half_pixels(i, of) if of.size > 1 else i,
    "tf_crop_and_resize": _cropped,
    "tf_half_pixel_for_nn": lambda i, of: (i + _HALF) / of.scale,
}


def _shares(node: OnnxOperator, places: FloatArray, length: int, scale: float) -> FloatArray:
    """Returns in row i the weight of each input element in result element i."""
    mode = node.text("mode", "nearest")
    shares = np.zeros((len(places), length))
    for i, place in enumerate(places):
        if mode == "nearest":
            shares[i, min(max(_nearest(node, place, scale < 1), 0), length - 1)] = 1
            continue
        first = math.floor(place)
        near = min(scale, 1.0) if node.integer("antialias", 0) else 1.0
        taps, weights = _taps(node, mode, place - first, near)
        if node.integer("exclude_outside", 0):
            weights = np.where((first + taps >= 0) & (first + taps < length), weights, 0)
            weights = weights / weights.sum()
        for tap, weight in zip(np.clip(first + taps, 0, length - 1), weights, strict=True):
            shares[i, tap] += weight
    return shares


def _nearest(node: OnnxOperator, place: float, is_smaller: bool) -> int:
    """Rounds; before set 11 there is no mode: ONNX Runtime rounds up if the result is smaller, else down."""
    mode = node.text("nearest_mode", "round_prefer_floor")
    if node.version < 11:
        mode = "ceil" if is_smaller else "floor"
    if mode == "floor":
        return math.floor(place)
    if mode == "ceil":
        return math.ceil(place)
    half = 0.5 + _NEARLY
    return math.ceil(place - half) if mode == "round_prefer_floor" else math.floor(place + half)


def _taps(
    node: OnnxOperator, mode: str, rest: float, near: float
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Returns neighbors and their weights; `near` below 1 widens the filter."""
    if mode not in ("linear", "cubic"):
        raise node.fail(f'mode "{mode}" is not supported', "use nearest, linear or cubic")
    reach = 1 if mode == "linear" else 2
    start = math.floor(-reach / near) + 1
    taps = np.arange(start, 2 - start)
    distance = np.abs(taps - rest) * near
    if mode == "linear":
        weights = np.clip(1 - distance, 0, 1)
    else:
        weights = _cubic(distance, node.real("cubic_coeff_a", -0.75))
    return taps, weights / weights.sum()


def _cubic(d: FloatArray, a: float) -> FloatArray:
    inner = ((a + 2) * d - (a + 3)) * d * d + 1
    outer = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, inner, np.where(d < 2, outer, 0.0))


def _multiplied(node: OnnxOperator, x: Value, axis: int, shares: FloatArray) -> Value:
    """Gathers and weights if few elements make each result; otherwise multiplies by a matrix."""
    counts = (shares != 0).sum(axis=1)
    if int(counts.max()) > _MOST_TAPS:
        return _product(node, x, axis, shares)
    if counts.max() == 1 and (shares.max(axis=1) == 1).all():
        return _gathered(node, x, axis, shares.argmax(axis=1))
    taps = np.argsort(shares == 0, axis=1, kind="stable")[:, : counts.max()]  # nonzero weights come first
    along = [-1 if a == axis else 1 for a in range(len(x.order))]
    parts = []
    for places in taps.T:
        weights = shares[np.arange(len(shares)), places].reshape(along)
        parts.append(node.do("Mul", _gathered(node, x, axis, places), node.number(weights, x.element)))
    return parts[0] if len(parts) == 1 else node.do("Sum", *parts)


def _gathered(node: OnnxOperator, x: Value, axis: int, places: npt.NDArray[np.int64]) -> Value:
    """Selects elements of a dimension in any order, possibly repeated, in the stored order of x."""
    shape, stored = node.draft.types[x.name].shape, x.order.index(axis)
    times = len(places) // shape[stored]
    if np.array_equal(places, np.arange(len(places)) // max(1, times)) and len(places) % shape[stored] == 0:
        steps = dense_strides(shape)
        sizes = (*shape[: stored + 1], times, *shape[stored + 1 :])
        strides = (*steps[: stored + 1], 0, *steps[stored + 1 :])
        whole = (*shape[:stored], len(places), *shape[stored + 1 :])
        return Value(node.picked(x.name, Loops(sizes, strides), whole), x.order, x.element)
    indices = node.number(places, TensorProto.INT32)
    return Value(node.apply(Gather(stored), x.name, indices.name), x.order, x.element)


def _product(node: OnnxOperator, x: Value, axis: int, shares: FloatArray) -> Value:
    rank = len(x.order)
    order = [a for a in range(rank) if a != axis] + [axis]
    turned = node.do("Transpose", x, perm=order)
    made = node.do("MatMul", turned, node.number(shares.T, x.element))
    return node.do("Transpose", made, perm=[order.index(a) for a in range(rank)])


RESIZING: Mapping[str, Importer] = {"Resize": _resize, "Upsample": _resize}
