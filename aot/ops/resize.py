"""Bilinear resizing: each pixel is interpolated from the four around its source position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.spatial import Pair

FRACTION_BITS = 10  # of positions between pixels, in integer arithmetic


@dataclass(frozen=True)
class Between:
    """The two source positions of each output position along one axis, and the weight of the second.

    Integer weights are in units of 2**-FRACTION_BITS.
    """

    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    share: Array


def between_reals(size: int, wanted: int, align_corners: bool, half_pixels: bool) -> Between:
    """Computes positions in single precision, like the references."""
    steps = (size - 1, wanted - 1) if align_corners and wanted > 1 else (size, wanted)
    scale, places = np.float32(steps[0]) / np.float32(steps[1]), np.arange(wanted).astype(np.float32)
    shift = np.float32(0.5 if half_pixels else 0)
    exact = (places + shift) * scale - shift
    first = np.maximum(np.floor(exact), 0).astype(np.int32)
    second = np.minimum(np.ceil(exact), size - 1).astype(np.int32)
    return Between(np.minimum(first, size - 1).astype(np.int32), second, exact - first.astype(np.float32))


def between_integers(size: int, wanted: int, align_corners: bool, half_pixels: bool) -> Between:
    one = 1 << FRACTION_BITS
    steps = (size - 1, wanted - 1) if align_corners and wanted > 1 else (size, wanted)
    scale = (one * steps[0] + steps[1] // 2) // steps[1]
    exact = np.arange(wanted, dtype=np.int64) * scale
    if half_pixels:
        exact = exact + scale // 2 - one // 2
    first = np.maximum(_towards_0(exact, one), 0)
    second = np.minimum(_towards_0(exact + one - 1, one), size - 1)
    share = (exact - one * first).astype(np.int32)
    return Between(np.minimum(first, size - 1).astype(np.int32), second.astype(np.int32), share)


def _towards_0(x: npt.NDArray[np.int64], divisor: int) -> npt.NDArray[np.int64]:
    quotients: npt.NDArray[np.int64] = np.sign(x) * (np.abs(x) // divisor)
    return quotients


def _of_unsigned(x: Array, rows: Between, columns: Between) -> Array:
    """Interpolates in single precision and in the references' order, which decides how results round."""
    one, offset = np.float32(1), np.float32(128)
    down, across = rows.share.reshape(-1, 1, 1), columns.share.reshape(-1, 1)
    image = x.astype(np.float32) + offset
    first, second = image[:, rows.first], image[:, rows.second]
    results = first[:, :, columns.first] * (one - down) * (one - across)
    results = results + second[:, :, columns.first] * down * (one - across)
    results = results + first[:, :, columns.second] * (one - down) * across
    results = results + second[:, :, columns.second] * down * across
    return np.asarray((results + np.float32(0.5)).astype(np.int32) - 128).astype(np.int8)


def _is_image(op: Resize, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    if min(op.size) < 1:
        return f"it is {op.size[0]}x{op.size[1]}"
    if op.align_corners and op.half_pixels:
        return "both corners and centers of pixels are aligned"
    return None


@dataclass(frozen=True, slots=True)
class Resize(Op):
    """Input: x [N, H, W, C]. Interpolates between the pixels above and below, left and right."""

    name: ClassVar[str] = "resize"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.I16, DType.F32),
        limits.rank_is(4),
        limits.QUANTISATION_IS_KEPT,
        Constraint("the size must be positive, and corners or centers aligned, not both", _is_image),
    )
    size: Pair = (1, 1)
    align_corners: bool = False
    half_pixels: bool = False
    is_unsigned: bool = False  # in the file; the references then compute in floats

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, (x.shape[0], *self.size, x.shape[3])),)

    def places(self, x: TensorType) -> tuple[Between, Between]:
        """Returns the source positions along rows and along columns."""
        between = between_reals if x.dtype is DType.F32 or self.is_unsigned else between_integers
        rows, columns = (
            between(size, wanted, self.align_corners, self.half_pixels)
            for size, wanted in zip(x.shape[1:3], self.size, strict=True)
        )
        return rows, columns

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type = required(arrays[0]), required(inputs[0])
        is_real = x_type.dtype is DType.F32
        rows, columns = self.places(x_type)
        if self.is_unsigned and not is_real:
            return (_of_unsigned(x, rows, columns),)
        wide = x.astype(np.float64 if is_real else np.int64)
        one = 1 if is_real else 1 << FRACTION_BITS
        down = rows.share.astype(wide.dtype).reshape(-1, 1, 1)
        across = columns.share.astype(wide.dtype).reshape(-1, 1)
        above, below = wide[:, rows.first], wide[:, rows.second]
        lines = above * (one - down) + below * down
        results = lines[:, :, columns.first] * (one - across) + lines[:, :, columns.second] * across
        if is_real:
            return (results.astype(np.float32),)
        half = 1 << (2 * FRACTION_BITS - 1)
        rounded = np.sign(results) * ((np.abs(results) + half) >> (2 * FRACTION_BITS))
        return (rounded.astype(x_type.dtype.numpy),)
