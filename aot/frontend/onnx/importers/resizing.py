"""Resize: along each dimension shares of few elements, or a product with a matrix of shares."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.strides import dense_strides
from aot.ir.types import DType
from aot.ops.gather import Gather
from aot.ops.rearrange import Loops
from aot.ops.resize import Resize, between_reals

_PIXELS = (0, 2, 3, 1)  # the order of an image's dimensions whose channels lie together
Reals = npt.NDArray[np.float64]
MAX_SHARES = 1 << 20  # elements of one matrix
_MOST_TAPS = 4  # elements that one result is made of


def _resize(node: OnnxOperator) -> Value:
    """Shares of integers are summed as floats, of which the fraction is cut off."""
    x = node.operand(0)
    if node.text("mode", "nearest") == "nearest" or node.dtype(x) is DType.F32:
        return _resized(node, x)
    return cast(node, _resized(node, cast(node, x, TensorProto.FLOAT)), x.element)


def _resized(node: OnnxOperator, x: Value) -> Value:
    shape = node.shape(x)
    axes = [node.axis(a, len(shape)) for a in node.integers("axes", tuple(range(len(shape))))]
    sizes, scales = _target(node, shape, axes)
    outside = np.zeros((1,) * len(shape), np.bool_)
    every: dict[int, Reals] = {}
    for number, axis in enumerate(axes):
        if sizes[number] == shape[axis] and scales[number] == 1 and not node.has(1):
            continue
        region = _region(node, number, len(axes))
        places = _places(node, shape[axis], sizes[number], scales[number], region)
        if sizes[number] * shape[axis] > MAX_SHARES:
            raise node.fail(f"a resize from {shape[axis]} to {sizes[number]} is not supported")
        every[axis] = _shares(node, places, shape[axis], scales[number])
        along = [-1 if a == axis else 1 for a in range(len(shape))]
        outside = outside | ((places < 0) | (places > shape[axis] - 1)).reshape(along)
    image = _as_image(node, x, every)
    if image is not None:
        return image
    for axis, shares in every.items():
        x = _multiplied(node, x, axis, shares)
    if node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize" and outside.any():
        value = node.number(node.real("extrapolation_value", 0.0), x.element)
        return node.do("Where", node.number(outside, TensorProto.BOOL), value, x)
    return x


def _as_image(node: OnnxOperator, x: Value, every: Mapping[int, Reals]) -> Value | None:
    """Resizes by one op, where the shares are those of an image whose pixels lie together already."""
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


def _shares_of(op: Resize, shape: tuple[int, ...], axis: int) -> Reals:
    """The op's weights of each row (axis 2) or column of an image with planes of that shape."""
    length, wanted = shape[axis], op.size[axis - 2]
    between = between_reals(length, wanted, op.align_corners, op.half_pixels)
    shares = np.zeros((wanted, length))
    np.add.at(shares, (np.arange(wanted), between.first), 1 - between.share)
    np.add.at(shares, (np.arange(wanted), between.second), between.share)
    return shares


def _target(node: OnnxOperator, shape: tuple[int, ...], axes: list[int]) -> tuple[list[int], list[float]]:
    """Sizes and scales along the axes."""
    if node.has(3):
        sizes = list(node.known_integers(3, "sizes"))
        scales = [size / shape[a] for size, a in zip(sizes, axes, strict=True)]
        policy = node.text("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            one = min(scales) if policy == "not_larger" else max(scales)
            scales = [one] * len(axes)
            sizes = [math.floor(one * shape[a] + 0.5) for a in axes]
        return sizes, scales
    position = 1 if node.version < 11 or node.proto.op_type == "Upsample" else 2
    if node.has_attribute("scales"):
        scales = list(node.reals("scales"))
    else:
        scales = [float(v) for v in node.known(position, "scales").reshape(-1)]
    if len(scales) != len(axes) or min(scales) <= 0:
        raise node.fail(f"scales {scales} do not fit {len(axes)} dimensions")
    return [math.floor(shape[a] * s) for s, a in zip(scales, axes, strict=True)], scales


def _region(node: OnnxOperator, number: int, count: int) -> tuple[float, float]:
    if node.version < 11 or not node.has(1) or _transformation(node) != "tf_crop_and_resize":
        return 0.0, 1.0
    region = node.known(1, "region").reshape(-1)
    return float(region[number]), float(region[number + count])


def _transformation(node: OnnxOperator) -> str:
    return node.text("coordinate_transformation_mode", "half_pixel" if node.version >= 11 else "asymmetric")


def _places(node: OnnxOperator, length: int, size: int, scale: float, region: tuple[float, float]) -> Reals:
    """The position in the input of each element of the result."""
    i = np.arange(size, dtype=np.float64)
    mode = _transformation(node)
    if mode == "align_corners":
        return i * (length - 1) / (scale * length - 1) if size > 1 else i * 0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_crop_and_resize":
        start, end = region
        if size == 1:
            return 0.5 * (start + end) * (length - 1) + i
        return start * (length - 1) + i * (end - start) * (length - 1) / (size - 1)
    if mode == "pytorch_half_pixel" and size == 1:
        return i - 0.5
    if mode == "half_pixel_symmetric":
        adjustment = size / (scale * length)
        return length / 2 * (1 - adjustment) + (i + 0.5) / scale - 0.5
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (i + 0.5) / scale - 0.5
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    raise node.fail(f'coordinate transformation "{mode}" is not supported')


def _shares(node: OnnxOperator, places: Reals, length: int, scale: float) -> Reals:
    """Row i: how much of each element of the input is in element i of the result."""
    mode = node.text("mode", "nearest")
    shares = np.zeros((len(places), length))
    for i, place in enumerate(places):
        if mode == "nearest":
            shares[i, min(max(_nearest(node, place), 0), length - 1)] = 1
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


def _nearest(node: OnnxOperator, place: float) -> int:
    mode = node.text("nearest_mode", "round_prefer_floor" if node.version >= 11 else "floor")
    if mode == "floor":
        return math.floor(place)
    if mode == "ceil":
        return math.ceil(place)
    return math.ceil(place - 0.5) if mode == "round_prefer_floor" else math.floor(place + 0.5)


def _taps(node: OnnxOperator, mode: str, rest: float, near: float) -> tuple[npt.NDArray[np.int64], Reals]:
    """Neighbours and their weights; `near` below 1 widens the filter."""
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


def _cubic(d: Reals, a: float) -> Reals:
    inner = ((a + 2) * d - (a + 3)) * d * d + 1
    outer = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, inner, np.where(d < 2, outer, 0.0))


def _multiplied(node: OnnxOperator, x: Value, axis: int, shares: Reals) -> Value:
    """Few elements make each result: these are gathered and weighted; many: a product."""
    counts = (shares != 0).sum(axis=1)
    if int(counts.max()) > _MOST_TAPS:
        return _product(node, x, axis, shares)
    if counts.max() == 1 and (shares.max(axis=1) == 1).all():
        return _gathered(node, x, axis, shares.argmax(axis=1))
    taps = np.argsort(shares == 0, axis=1, kind="stable")[:, : counts.max()]  # those that count come first
    along = [-1 if a == axis else 1 for a in range(len(x.order))]
    parts = []
    for places in taps.T:
        weights = shares[np.arange(len(shares)), places].reshape(along)
        parts.append(node.do("Mul", _gathered(node, x, axis, places), node.number(weights, x.element)))
    return parts[0] if len(parts) == 1 else node.do("Sum", *parts)


def _gathered(node: OnnxOperator, x: Value, axis: int, places: npt.NDArray[np.int64]) -> Value:
    """Each element of a dimension several times, or in any order, in the order in which x is stored."""
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


def _product(node: OnnxOperator, x: Value, axis: int, shares: Reals) -> Value:
    rank = len(x.order)
    order = [a for a in range(rank) if a != axis] + [axis]
    turned = node.do("Transpose", x, perm=order)
    made = node.do("MatMul", turned, node.number(shares.T, x.element))
    return node.do("Transpose", made, perm=[order.index(a) for a in range(rank)])


RESIZING: Mapping[str, Importer] = {"Resize": _resize, "Upsample": _resize}
