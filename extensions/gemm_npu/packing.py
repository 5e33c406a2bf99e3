"""Packs constants as programs load them: microcode, vectors of scales, weights in 16 x 16 tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aot.ir.types import Array
from aot.ops.average_pool2d import Halves, mean
from extensions.gemm_npu.device import scaled
from extensions.gemm_npu.machine import LANES
from extensions.gemm_npu.sums import MICRO_CODE, SCALES_AT
from extensions.gemm_npu.tiles import Tiling
from extensions.gemm_npu.window import SCALE_VECTORS, NpuWindow, WindowResult, blocks
from extensions.gemm_npu.window_tiles import layout, micro_code

_WEIGHT_OF_MEANS = 64  # of each pixel in an average pool: the sum has 6 fraction bits before the division
_SCALES = ("bias", "mult", "right")


def window_constants(window: NpuWindow, tiling: Tiling, scales: Mapping[str, Array], weights: Array) -> Array:
    """Packs a window's constants: microcode, scales and weights.

    `scales` has `bias`, `mult` and `right` of each lane; `weights` are packed already.
    """
    place = layout(window)
    content = np.zeros(place.weights + weights.size, np.int8)
    _put(content, 0, np.array(micro_code(window, tiling), np.uint32))
    _put(content, place.scales, _scale_vectors(scales, window.scale_vectors // SCALE_VECTORS))
    _put(content, place.weights, weights)
    return content


def sum_constants(multipliers: Sequence[tuple[int, int]]) -> Array:
    """Packs a sum's constants: microcode, multipliers and the unit matrix.

    `multipliers` has (mult, shift) of both operands and of the sum.
    """
    vectors = [np.full(LANES, value, np.int32) for mult, shift in multipliers for value in (mult, -shift)]
    content = np.zeros(SCALES_AT + 64 * len(vectors) + LANES, np.int8)
    _put(content, 0, np.array(MICRO_CODE, np.uint32))
    _put(content, SCALES_AT, np.concatenate(vectors))
    content[-LANES:] = 1
    return content


def tiles_of(w: Array) -> Array:
    """Packs [channels][rows][columns][depth] into tiles [16 channels][16 of depth], tap by tap."""
    channels, rows, columns, depth = w.shape
    padded = np.pad(w, ((0, -channels % LANES), (0, 0), (0, 0), (0, -depth % LANES)))
    split = padded.reshape(blocks(channels), LANES, rows, columns, blocks(depth), LANES)
    return np.ascontiguousarray(split.transpose(0, 2, 3, 4, 1, 5)).reshape(-1)


def diagonals_of(w: Array) -> Array:
    """Packs [rows][columns][channels] into diagonals of tiles, tap by tap."""
    rows, columns, channels = w.shape
    padded = np.pad(w, ((0, 0), (0, 0), (0, -channels % LANES)))
    split = padded.reshape(rows, columns, blocks(channels), LANES)
    return np.ascontiguousarray(split.transpose(2, 0, 1, 3)).reshape(-1)


def shared_weights(window: NpuWindow) -> Array:
    """Returns the diagonal that all taps of a pool share."""
    return np.full(LANES, _WEIGHT_OF_MEANS if window.made is WindowResult.MEAN else 1, np.int8)


def scales_of_pool(window: NpuWindow, halves: Halves) -> Mapping[str, Array]:
    """Returns the scales of each pixel count, 16 copies each; empty for a max pool."""
    counts = window.counts if window.made is WindowResult.MEAN else ()
    rows = [(start_of_means(count, halves), *scale_of_means(count)) for count in counts]
    columns = np.array(rows, np.int32).reshape(-1, SCALE_VECTORS).T
    return dict(zip(_SCALES, np.repeat(columns, LANES, axis=1), strict=True))


def zero_point_of_means(halves: Halves) -> int:
    """Returns the zero point of average pools: subtracted from each pixel and added to the mean.

    It is -128 if halves round up, so that means are not negative and rounding away from 0 rounds up.
    """
    return -128 if halves is Halves.UP else 0


def start_of_means(pixels: int, halves: Halves) -> int:
    """Returns the start value of sums of `pixels` pixels."""
    return -zero_point_of_means(halves) * _WEIGHT_OF_MEANS * pixels


def scale_of_means(pixels: int) -> tuple[int, int]:
    """Returns (mult, right), which turn sums of `pixels` pixels into means, rounding halves away from 0."""
    right = (_WEIGHT_OF_MEANS * pixels).bit_length() - 1
    mult = ((1 << 31 + right) + _WEIGHT_OF_MEANS * pixels // 2) // (_WEIGHT_OF_MEANS * pixels)
    if mult == 1 << 31:
        right, mult = right - 1, mult // 2
    return mult, right


def has_exact_means(pixels: int, halves: Halves) -> bool:
    """Returns True if the mean of every possible sum matches the reference."""
    mult, right = scale_of_means(pixels)
    sums = np.arange(-128 * pixels, 127 * pixels + 1, dtype=np.int64)
    weighted = sums * _WEIGHT_OF_MEANS + start_of_means(pixels, halves)
    found = scaled(weighted, np.array(mult, np.int64), np.array(right, np.int64))
    wanted = mean(sums, np.full_like(sums, pixels), halves)
    return bool(np.array_equal(found + zero_point_of_means(halves), wanted))


def _put(content: Array, at: int, values: Array) -> None:
    stored = np.ascontiguousarray(values).view(np.int8)
    content[at : at + stored.size] = stored


def _scale_vectors(scales: Mapping[str, Array], count: int) -> Array:
    """Returns vectors of biases, multipliers and shifts for each 16 channels."""
    rows = [
        np.pad(scales[name].astype(np.int32), (0, count * LANES - scales[name].size)).reshape(count, LANES)
        for name in _SCALES
    ]
    return np.stack(rows, axis=1).reshape(-1)
