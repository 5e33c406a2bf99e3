"""Fourier transforms as products with constant matrices, whole or by frame, and the mel matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import dense_strides
from aot.ops.rearrange import Loops

FloatArray = npt.NDArray[np.float64]
_MAX_MATRIX_ELEMENTS = 1 << 20


def _dft(node: OnnxOperator) -> Value:
    x = node.operand(0)
    rank = len(x.order)
    if node.version >= 20:
        number = int(node.known_scalar(2, "axis")) if node.has(2) else -2
    else:
        number = node.integer("axis", 1)
    axis = node.axis(number, rank)
    one_sided, inverse = bool(node.integer("onesided", 0)), bool(node.integer("inverse", 0))
    size = node.shape(x)[axis]
    default = 2 * (size - 1) if one_sided and inverse else size
    length = int(node.known_scalar(1, "length")) if node.has(1) else default
    order = [*(a for a in range(rank - 1) if a != axis), axis, rank - 1]
    turned = node.do("Transpose", x, perm=order)
    made = _transformed(node, turned, length, one_sided, inverse)
    return node.do("Transpose", made, perm=[order.index(a) for a in range(rank)])


def _transformed(node: OnnxOperator, x: Value, length: int, one_sided: bool, inverse: bool) -> Value:
    """Transforms x [..., elements, 1 or 2]; the result has complex pairs, or only their first part."""
    shape = node.shape(x)
    real = _part(node, x, 0)
    imaginary = _part(node, x, 1) if shape[-1] == 2 else None
    if inverse and one_sided:
        cosines, sines = _half_known(shape[-2], length)
        parts = [(cosines, sines)]
    else:
        cosines, sines = _angles(shape[-2], length, length // 2 + 1 if one_sided else length, inverse)
        parts = [(cosines, -sines), (sines, cosines)]
    made = [_combined(node, real, imaginary, *pair) for pair in parts]
    last = node.number([len(shape) - 1], TensorProto.INT64)
    whole = concatenated(node, [node.do("Unsqueeze", m, last) for m in made], len(shape) - 1)
    return node.do("Mul", whole, node.number(1 / length, x.element)) if inverse else whole


def _part(node: OnnxOperator, x: Value, number: int) -> Value:
    last = len(x.order) - 1
    part = sliced(node, x, {last: range(number, number + 1)})
    return node.do("Squeeze", part, node.number([last], TensorProto.INT64))


def _combined(
    node: OnnxOperator, real: Value, imaginary: Value | None, a: FloatArray, b: FloatArray
) -> Value:
    """Computes real @ a + imaginary @ b."""
    if a.size > _MAX_MATRIX_ELEMENTS:
        raise node.fail(f"a transform of {a.shape[0]} elements to {a.shape[1]} is not supported")
    made = node.do("MatMul", real, node.number(a, real.element))
    if imaginary is None:
        return made
    return node.do("Add", made, node.do("MatMul", imaginary, node.number(b, real.element)))


def _angles(size: int, length: int, results: int, inverse: bool) -> tuple[FloatArray, FloatArray]:
    """Returns matrices [elements, results]; elements beyond the length are ignored, missing ones are 0."""
    turns = np.outer(np.arange(size), np.arange(results)) % length / length
    angles = 2 * np.pi * turns * (1 if inverse else -1)
    counts = (np.arange(size) < length)[:, np.newaxis]
    return np.cos(angles) * counts, np.sin(angles) * counts


def _half_known(size: int, length: int) -> tuple[FloatArray, FloatArray]:
    """Returns matrices to floats from the first half of a spectrum, whose second half mirrors it."""
    cosines, sines = _angles(size, length, length, inverse=True)
    twice = np.full((size, 1), 2.0)
    twice[0] = 1.0
    if length % 2 == 0 and length // 2 < size:
        twice[length // 2] = 1.0
    twice[length // 2 + 1 :] = 0.0
    return cosines * twice, -sines * twice


def _stft(node: OnnxOperator) -> Value:
    """Transforms windowed frames side by side."""
    x = node.operand(0)
    step = int(node.known_scalar(1, "frame step"))
    window = node.optional(2)
    if node.has(3):
        length = int(node.known_scalar(3, "frame length"))
    elif window is not None:
        (length,) = node.shape(window)
    else:
        raise node.fail("it has neither a window nor a frame length", "get or export the file again")
    if len(node.shape(x)) not in (2, 3):
        raise node.fail(f"its signal has the shape {list(node.shape(x))}, not [batch, length, 1 or 2]")
    batch, size, *rest = node.shape(x)  # ONNX Runtime takes real signals without their last dimension, too
    parts = rest[0] if rest else 1
    count = (size - length) // step + 1
    if step < 1 or count < 1:
        raise node.fail(f"frames of {length} in steps of {step} do not fit {size} elements")
    strides = dense_strides((batch, size, parts))
    loops = Loops((batch, count, length, parts), (strides[0], step * strides[1], strides[1], strides[2]))
    frames = node.value(node.picked(node.plain(x), loops, loops.sizes), x.element)
    if window is not None:
        column = node.value(node.reshaped(node.plain(window), (length, 1)), window.element)
        frames = node.do("Mul", frames, column)
    return _transformed(node, frames, length, bool(node.integer("onesided", 1)), False)


def _mel_matrix(node: OnnxOperator) -> Value:
    """Returns triangles evenly spaced on the mel scale, one per column; computed at compile time."""
    bands, length, rate = (int(node.known_scalar(i, "size")) for i in range(3))
    low, high = (2595 * np.log10(1 + node.known_scalar(i, "edge") / 700) for i in (3, 4))
    bins = length // 2 + 1
    if not (bands > 0 and bins > 0 and bands * bins <= _MAX_MATRIX_ELEMENTS and rate > 0):
        raise node.fail(f"{bands} bands of {bins} frequencies are not supported")
    mels = low + np.arange(bands + 2) * (high - low) / (bands + 2)
    edges = np.floor((length + 1) * (700 * (10 ** (mels / 2595) - 1)) / rate).astype(np.int64)
    if not (np.isfinite(mels).all() and 0 <= edges.min() <= edges.max() < bins):
        raise node.fail(f"edges from {edges.min()} to {edges.max()} do not fit {bins} frequencies")
    matrix = np.zeros((bins, bands))
    for band, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        rising, falling = np.arange(left, centre), np.arange(centre, right)
        matrix[rising, band] = (rising - left) / max(1, centre - left)
        matrix[falling, band] = (right - falling) / max(1, right - centre)
        matrix[centre, band] = 1
    return node.number(matrix, node.integer("output_datatype", TensorProto.FLOAT))


SPECTRA: Mapping[str, Importer] = {"DFT": _dft, "MelWeightMatrix": _mel_matrix, "STFT": _stft}
