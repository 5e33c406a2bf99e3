"""Convolutions over any number of dimensions, with weights that are constant or computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.importers.padding import SpatialWindows, dilated, padded, read_windows
from aot.frontend.onnx.importers.products import centred
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import Array, DType, dense_strides
from aot.ops.contract import Contract
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d

_CHANNELS_LAST = (0, 2, 3, 1)
_MOST_GROUPS = 32  # imported as separate convolutions
_REPEATS_PERHAPS = "get or export the file again"


def _conv(node: OnnxOperator) -> Value:
    x, w, b = node.operand(0), node.operand(1), node.optional(2)
    group = node.integer("group", 1)
    _check_channels(node, x, w, group)
    windows = read_windows(node, node.shape(x)[2:], node.shape(w)[2:])
    return convolved(node, x, w, b, group, windows)


def _check_channels(node: OnnxOperator, x: Value, w: Value, group: int) -> None:
    x_shape, w_shape = node.shape(x), node.shape(w)
    if len(x_shape) != len(w_shape) or len(x_shape) < 3:
        raise node.fail(f"weights {list(w_shape)} do not fit an input of shape {list(x_shape)}")
    if group < 1 or w_shape[1] * group != x_shape[1] or w_shape[0] % group:
        raise node.fail(f"{group} groups of weights {list(w_shape)} do not fit {x_shape[1]} channels")


def convolved(
    node: OnnxOperator, x: Value, w: Value, b: Value | None, group: int, windows: SpatialWindows
) -> Value:
    """Uses an op for images, or for data that can be viewed as one; otherwise sums of products."""
    shape = node.shape(x)
    is_constant = {v.name for v in (w, b) if v is not None} <= node.draft.constants.keys()
    depthwise = group == shape[1]
    is_image = shape[0] == 1 and len(shape) <= 4
    if is_constant and is_image and node.dtype(x) is DType.F32 and (depthwise or group <= _MOST_GROUPS):
        if depthwise or group == 1:
            return _image(node, x, w, b, depthwise, windows)
        return _group_by_group(node, x, w, b, group, windows)
    return _sums(node, x, w, b, group, windows)


def _group_by_group(
    node: OnnxOperator, x: Value, w: Value, b: Value | None, group: int, windows: SpatialWindows
) -> Value:
    """Convolves each group of channels with its filters, and joins the results."""
    each, made = node.shape(x)[1] // group, node.shape(w)[0] // group
    if len(x.order) == 4:
        x = Value(as_image(node, x), _CHANNELS_LAST, x.element)
    results = []
    for number in range(group):
        part = sliced(node, x, {1: range(number * each, (number + 1) * each)})
        filters, bias = (_filters(node, v, range(number * made, (number + 1) * made)) for v in (w, b))
        assert filters is not None
        results.append(_image(node, part, filters, bias, False, windows))
    return concatenated(node, results, 1)


def _filters(node: OnnxOperator, constant: Value | None, chosen: range) -> Value | None:
    if constant is None:
        return None
    name = node.draft.moved(constant, lambda a: a[chosen.start : chosen.stop], f"{node.place.label}/group")
    return node.value(name, constant.element)


def _image(
    node: OnnxOperator, x: Value, weights: Value, bias: Value | None, depthwise: bool, windows: SpatialWindows
) -> Value:
    is_line = len(weights.order) == 3
    if is_line:  # an image of one row
        windows = windows.as_image()
    image = as_image(node, x)
    attributes = (windows.stride_pair, windows.dilation_pair, windows.padding_pairs)
    label = node.place.label
    b = None if bias is None else node.draft.moved(bias, lambda numbers: numbers, f"{label}/bias")
    if depthwise:
        multiplier = node.shape(weights)[0] // node.shape(x)[1]
        op = DepthwiseConv2d(*attributes, multiplier=multiplier)
    else:
        op = Conv2d(*attributes)  # type: ignore[assignment]
    arranged = _filters_last if depthwise else _channels_behind
    filters = node.draft.moved(weights, arranged, f"{label}/weights")
    made = node.apply(op, image, filters, b)
    return from_image(node, made, is_line, x.element)


def _channels_behind(weights: Array) -> Array:
    """Converts [O, I, rows, columns], or the form for a line, to [O, rows, columns, I]."""
    image: Array = np.expand_dims(weights, 2) if weights.ndim == 3 else weights
    return np.transpose(image, (0, 2, 3, 1))


def _filters_last(weights: Array) -> Array:
    """Converts [O, 1, rows, columns], or the form for a line, to [rows, columns, O]."""
    return np.transpose(_channels_behind(weights)[..., 0], (1, 2, 0))


def as_image(node: OnnxOperator, x: Value) -> str:
    """Returns [1, rows, columns, channels]; a line becomes an image of one row."""
    if len(x.order) == 4:
        return node.draft.stored(node.place, x, _CHANNELS_LAST)
    name = node.draft.stored(node.place, x, (0, 2, 1))
    n, columns, channels = node.draft.types[name].shape
    return node.reshaped(name, (n, 1, columns, channels))


def from_image(node: OnnxOperator, name: str, is_line: bool, element: int) -> Value:
    if not is_line:
        return Value(name, _CHANNELS_LAST, element)
    n, _, columns, channels = node.draft.types[name].shape
    return Value(node.reshaped(name, (n, columns, channels)), (0, 2, 1), element)


def _sums(
    node: OnnxOperator, x: Value, w: Value, b: Value | None, group: int, windows: SpatialWindows
) -> Value:
    image = padded(node, node.plain(x), [(0, 0), (0, 0), *windows.padding], 0.0)
    name = sums_of_windows(node, image, node.plain(w), group, windows)
    result = node.value(name, x.element)
    if b is None:
        return result
    ones = (1,) * (len(node.shape(x)) - 2)
    channels = node.value(node.reshaped(node.plain(b), (*node.shape(b), *ones)), b.element)
    return node.do("Add", result, channels)


def sums_of_windows(node: OnnxOperator, image: str, w: str, group: int, windows: SpatialWindows) -> str:
    """Convolves an image [N, C, ...] that is already padded; w is [O, C / group, ...]."""
    shape, w_shape = node.draft.types[image].shape, node.draft.types[w].shape
    steps, w_steps = dense_strides(shape), dense_strides(w_shape)
    outputs = windows.output_sizes(shape[2:])
    each = w_shape[0] // group
    sizes = (shape[0], group, each, *outputs, *w_shape[1:])
    spots = tuple(s * t for s, t in zip(windows.strides, steps[2:], strict=True))
    taps = tuple(d * t for d, t in zip(windows.dilations, steps[2:], strict=True))
    image_strides = (steps[0], w_shape[1] * steps[1], 0, *spots, steps[1], *taps)
    w_strides = (0, each * w_steps[0], w_steps[0], *(0,) * len(outputs), *w_steps[1:])
    op = Contract((shape[0], w_shape[0], *outputs), sizes, len(w_shape) - 1, image_strides, w_strides)
    return node.apply(op, image, w)


def _conv_transpose(node: OnnxOperator) -> Value:
    """Convolves the image, with zeros between its pixels, with flipped weights."""
    x, w, b = node.operand(0), node.operand(1), node.optional(2)
    group = node.integer("group", 1)
    shape, w_shape = node.shape(x), node.shape(w)
    if len(shape) != len(w_shape) or group < 1 or shape[1] != w_shape[0] or w_shape[0] % group:
        raise node.fail(f"{group} groups of weights {list(w_shape)} do not fit shape {list(shape)}")
    plan = _transposed_plan(node, shape[2:], w_shape[2:])
    windows = SpatialWindows(
        w_shape[2:], (1,) * len(plan.strides), plan.dilations, ((0, 0),) * len(plan.strides)
    )
    return convolved(node, _spread(node, x, plan), _turned(node, w, group), b, group, windows)


def _spread(node: OnnxOperator, x: Value, plan: _Transposed) -> Value:
    """Inserts zeros between and around pixels, in the stored order."""
    count = len(plan.strides)
    order = _CHANNELS_LAST if count == 2 else x.order
    places = [order.index(2 + axis) for axis in range(count)]
    name = node.draft.stored(node.place, x, order)
    name = dilated(node, name, dict(zip(places, plan.strides, strict=True)))
    pairs = dict(zip(places, plan.padding, strict=True))
    margins = [pairs.get(axis, (0, 0)) for axis in range(len(order))]
    return Value(padded(node, name, margins, 0.0), order, x.element)


@dataclass(frozen=True)
class _Transposed:
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: list[tuple[int, int]]  # may be negative


def _transposed_plan(node: OnnxOperator, sizes: tuple[int, ...], kernel: tuple[int, ...]) -> _Transposed:
    count = len(sizes)
    strides = node.integers("strides", (1,) * count)
    dilations = node.integers("dilations", (1,) * count)
    extra = node.integers("output_padding", (0,) * count)
    wanted = node.integers("output_shape", ()) or None
    pads = node.integers("pads", (0,) * 2 * count)
    auto = node.text("auto_pad", "NOTSET")
    if not len(strides) == len(dilations) == len(extra) == len(pads) // 2 == count or min(strides) < 1:
        raise node.fail("its attributes do not fit the input", _REPEATS_PERHAPS)
    padding = []
    for axis in range(count):
        reach = (kernel[axis] - 1) * dilations[axis]
        full = (sizes[axis] - 1) * strides[axis] + extra[axis] + reach + 1
        begin, end = pads[axis], pads[count + axis]
        length = wanted[axis] if wanted else sizes[axis] * strides[axis] if auto.startswith("SAME") else None
        if length is not None:
            total = full - length
            small, large = total // 2, total - total // 2
            begin, end = (small, large) if auto == "SAME_UPPER" else (large, small)
        padding.append((reach - begin, reach - end + extra[axis]))
    return _Transposed(strides, dilations, padding)


def _turned(node: OnnxOperator, w: Value, group: int) -> Value:
    """Converts [I, O / group, ...] to [O, I / group, ...], with every filter flipped."""
    from aot.ops.rearrange import Loops

    shape = node.shape(w)
    each, outputs, kernel = shape[0] // group, shape[1], shape[2:]
    steps = dense_strides(shape)
    sizes = (group, outputs, each, *kernel)
    strides = (each * steps[0], steps[1], steps[0], *(-s for s in steps[2:]))
    offset = sum((k - 1) * s for k, s in zip(kernel, steps[2:], strict=True))
    name = node.picked(node.plain(w), Loops(sizes, strides, offset), (group * outputs, each, *kernel))
    return node.value(name, w.element)


def _conv_integer(node: OnnxOperator) -> Value:
    """Sums products of integers minus their zero points; padding is the zero point."""
    x = centred(node, node.operand(0), node.optional(2), 1)
    w = centred(node, node.operand(1), node.optional(3), 0)
    group = node.integer("group", 1)
    _check_channels(node, x, w, group)
    windows = read_windows(node, node.shape(x)[2:], node.shape(w)[2:])
    return _sums(node, x, w, None, group, windows)


CONVOLUTION: dict[str, Importer] = {
    "Conv": _conv,
    "ConvInteger": _conv_integer,
    "ConvTranspose": _conv_transpose,
}
