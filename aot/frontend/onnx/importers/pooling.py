"""Pools: with an op for images, otherwise as windows in an extra dimension that is reduced."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import numpy.typing as npt

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.convolution import as_image, from_image
from aot.frontend.onnx.importers.elementwise import divided
from aot.frontend.onnx.importers.padding import SpatialWindows, padded, read_windows
from aot.frontend.onnx.importers.scattering import put
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ir.types import DType, dense_strides
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.rearrange import Loops
from aot.ops.spatial import extent, output_size

FloatArray = npt.NDArray[np.float64]


def _read(node: OnnxOperator, x: Value) -> SpatialWindows:
    lengths = node.shape(x)[2:]
    if not lengths:
        raise node.fail(f"shape {list(node.shape(x))} is not an image")
    windows = read_windows(node, lengths, None)
    if not node.integer("ceil_mode", 0) or node.text("auto_pad", "NOTSET") not in ("NOTSET", ""):
        return windows
    padding = []
    for n, k, s, d, (before, after) in zip(
        lengths, windows.sizes, windows.strides, windows.dilations, windows.padding, strict=True
    ):
        span = n + before + after - extent(k, d)
        outputs = -(-span // s) + 1
        if (outputs - 1) * s >= n + before:  # no window may begin after the image
            outputs -= 1
        padding.append((before, max(after, (outputs - 1) * s + extent(k, d) - n - before)))
    return replace(windows, padding=tuple(padding))


def _is_image(node: OnnxOperator, x: Value, windows: SpatialWindows) -> bool:
    shape = node.shape(x)
    plain = all(d == 1 for d in windows.dilations)
    inside = all(max(p) < k for p, k in zip(windows.padding, windows.sizes, strict=True))
    return shape[0] == 1 and len(shape) in (3, 4) and plain and inside and node.dtype(x) is DType.F32


def _pooled(
    node: OnnxOperator, x: Value, op: type[AveragePool2d] | type[MaxPool2d], windows: SpatialWindows
) -> Value:
    is_line = len(windows.sizes) == 1
    windows = windows.as_image() if is_line else windows
    size = (windows.sizes[0], windows.sizes[1])
    made = node.apply(op(size, windows.stride_pair, windows.padding_pairs), as_image(node, x))
    return from_image(node, made, is_line, x.element)


def laid_out(node: OnnxOperator, x: Value, windows: SpatialWindows, fill: float) -> Value:
    """Returns the pixels in each window, as [N, C, ..., elements of the window]."""
    image = padded(node, node.plain(x), [(0, 0), (0, 0), *windows.padding], fill)
    shape = node.draft.types[image].shape
    steps, outputs = dense_strides(shape), windows.output_sizes(shape[2:])
    spots = tuple(s * t for s, t in zip(windows.strides, steps[2:], strict=True))
    taps = tuple(d * t for d, t in zip(windows.dilations, steps[2:], strict=True))
    loops = Loops((*shape[:2], *outputs, *windows.sizes), (*steps[:2], *spots, *taps))
    return node.value(node.picked(image, loops, (*shape[:2], *outputs, prod(windows.sizes))), x.element)


def _average_pool(node: OnnxOperator) -> Value:
    x = node.operand(0)
    windows = _read(node, x)
    counts_padding = bool(node.integer("count_include_pad", 0)) and any(map(any, windows.padding))
    if _is_image(node, x, windows) and not counts_padding:
        return _pooled(node, x, AveragePool2d, windows)
    counts = _counts(node, node.shape(x)[2:], windows, counts_padding)
    sums = node.do("ReduceSum", laid_out(node, x, windows, 0.0), _last(node), keepdims=0)
    return divided(node, sums, counts)


def _last(node: OnnxOperator) -> Value:
    return node.number([-1], 7)


def _counts(
    node: OnnxOperator, lengths: tuple[int, ...], windows: SpatialWindows, with_padding: bool
) -> FloatArray:
    """Counts the elements of each window's mean, without elements that ceil_mode adds after the padding."""
    pads = node.integers("pads", (0,) * 2 * len(lengths))
    total = np.ones((), np.float64)
    for axis, (n, k, s, d) in enumerate(
        zip(lengths, windows.sizes, windows.strides, windows.dilations, strict=True)
    ):
        before, after = windows.padding[axis]
        if node.text("auto_pad", "NOTSET") in ("NOTSET", ""):
            after_counted = pads[len(lengths) + axis]
        else:
            after_counted = after
        low, high = (-before, n + after_counted) if with_padding else (0, n)
        starts = np.arange(output_size(n, k, s, d, (before, after))) * s - before
        places = starts[:, np.newaxis] + np.arange(k) * d
        along = ((places >= low) & (places < high)).sum(axis=1)
        total = np.multiply.outer(total, along)
    return total


def _max_pool(node: OnnxOperator) -> Results:
    x = node.operand(0)
    windows = _read(node, x)
    if node.result_count > 1:
        return _with_places(node, x, windows)
    if _is_image(node, x, windows):
        return _pooled(node, x, MaxPool2d, windows)
    return node.do("ReduceMax", laid_out(node, x, windows, _least(node, x)), _last(node), keepdims=0)


def _least(node: OnnxOperator, x: Value) -> float:
    dtype = node.dtype(x)
    return float("-inf") if dtype is DType.F32 else float(dtype.limits[0])


def _with_places(node: OnnxOperator, x: Value, windows: SpatialWindows) -> Results:
    """Returns the maxima, and the position of each in the whole input."""
    outlaid = laid_out(node, x, windows, _least(node, x))
    largest = node.do("ReduceMax", outlaid, _last(node), keepdims=0)
    chosen = node.do("ArgMax", outlaid, axis=-1, keepdims=1)
    shape = node.shape(x)
    strides = list(dense_strides(shape))
    if node.integer("storage_order", 0):  # column-major
        strides[2:] = reversed(dense_strides(tuple(reversed(shape[2:]))))
    outputs = node.shape(largest)[2:]
    places = np.arange(prod(shape[:2])).reshape(*shape[:2], *(1,) * 2 * len(outputs)) * prod(shape[2:])
    count = len(outputs)
    for axis in range(count):
        starts = np.arange(outputs[axis]) * windows.strides[axis] - windows.padding[axis][0]
        spots = starts.reshape([-1 if a == axis else 1 for a in range(2 * count)])
        taps = (np.arange(windows.sizes[axis]) * windows.dilations[axis]).reshape(
            [-1 if a == count + axis else 1 for a in range(2 * count)]
        )
        places = places + (spots + taps) * strides[2 + axis]
    table = node.number(places.reshape(*shape[:2], *outputs, -1), 7)
    found = node.do("GatherElements", table, chosen, axis=-1)
    return [largest, node.do("Squeeze", found, _last(node))]


def _lp_pool(node: OnnxOperator) -> Value:
    """Computes (sum of |x| ** p) ** (1 / p) in each window."""
    x, p = node.operand(0), node.integer("p", 2)
    outlaid = laid_out(node, x, _read(node, x), 0.0)
    return _p_norm(node, outlaid, p, (-1,), 0)


def _p_norm(node: OnnxOperator, x: Value, p: int, axes: tuple[int, ...], keepdims: int) -> Value:
    places = node.number(list(axes), 7)
    if p == 1:
        return node.do("ReduceL1", x, places, keepdims=keepdims)
    if p == 2:
        return node.do("ReduceL2", x, places, keepdims=keepdims)
    powers = node.do("Pow", node.do("Abs", x), node.number(float(p), x.element))
    sums = node.do("ReduceSum", powers, places, keepdims=keepdims)
    return node.do("Pow", sums, node.number(1 / p, x.element))


def _spatial_axes(node: OnnxOperator, x: Value) -> tuple[int, ...]:
    if len(x.order) < 3:
        raise node.fail(f"shape {list(node.shape(x))} is not an image")
    return tuple(range(2, len(x.order)))


def _global_pool(reduce: str) -> Importer:
    def import_it(node: OnnxOperator) -> Value:
        x = node.operand(0)
        shape = node.shape(x)
        if len(shape) == 4 and shape[0] == 1 and node.dtype(x) is DType.F32:
            windows = SpatialWindows(shape[2:], (1, 1), (1, 1), ((0, 0), (0, 0)))
            return _pooled(node, x, AveragePool2d if reduce == "ReduceMean" else MaxPool2d, windows)
        return node.do(reduce, x, node.number(_spatial_axes(node, x), 7), keepdims=1)

    return import_it


def _global_lp_pool(node: OnnxOperator) -> Value:
    x = node.operand(0)
    return _p_norm(node, x, node.integer("p", 2), _spatial_axes(node, x), 1)


def _max_unpool(node: OnnxOperator) -> Value:
    """Puts each element at its recorded position among zeros; a larger shape appends zeros."""
    x, places = node.operand(0), node.known(1, "places").astype(np.int64)
    shape = node.shape(x)
    windows = read_windows(node, shape[2:], None)
    sizes = zip(shape[2:], windows.sizes, windows.strides, windows.padding, strict=True)
    whole = (*shape[:2], *((n - 1) * s + k - sum(p) for n, k, s, p in sizes))
    if places.shape != shape or not 0 <= int(places.min()) <= int(places.max()) < prod(whole):
        raise node.fail(f"places {list(places.shape)} do not fit shape {list(shape)}")
    made = put(node, node.number(np.zeros(whole), x.element), x, places, "none")
    wanted = node.known_integers(2, "output shape") if node.has(2) else whole
    if len(wanted) != len(whole):
        raise node.fail(f"output shape {list(wanted)} does not fit {list(whole)}")
    margins = [(0, size - own) for size, own in zip(wanted, whole, strict=True)]
    return node.value(padded(node, node.plain(made), margins, 0.0), x.element)


POOLING: dict[str, Importer] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_pool("ReduceMean"),
    "GlobalLpPool": _global_lp_pool,
    "GlobalMaxPool": _global_pool("ReduceMax"),
    "LpPool": _lp_pool,
    "MaxPool": _max_pool,
    "MaxUnpool": _max_unpool,
}
