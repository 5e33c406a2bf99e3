"""Random convolutions for Ethos-U, their weights in the coding of Vela's codec."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from npu_jobs import long, short
from npu_operations import (
    CONSTANTS,
    NATURAL,
    TFL,
    Case,
    Ints,
    Map,
    behind,
    ifm_registers,
    job_of,
    kernel_registers,
    ofm_registers,
    scaled,
    stored,
)

UBLOCKS = {5: (8, 4), 6: (8, 8), 7: (8, 8), 8: (8, 8)}  # depth of inputs and of results


@dataclass(frozen=True)
class ConvShape:
    ifm: tuple[int, int, int]
    channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    is_depthwise: bool = False
    part_kernel_first: bool = False
    block_depth: int = 16
    dtype: str = "int8"
    macs_log2: int = 7
    in_bricks: bool = False
    sparse: float = 0.3  # part of the weights that are zero
    weights_count: int = 1 << 20
    upscale: int = 0
    cut: tuple[int, int, int] | None = None

    @property
    def enlarged(self) -> tuple[int, int]:
        factor = 2 if self.upscale else 1
        return self.ifm[0] * factor, self.ifm[1] * factor

    @property
    def ofm(self) -> tuple[int, int, int]:
        top, left, bottom, right = self.padding
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        rows = (self.enlarged[0] + top + bottom - reach[0]) // self.stride[0] + 1
        columns = (self.enlarged[1] + left + right - reach[1]) // self.stride[1] + 1
        return rows, columns, self.channels


def encoded(weights: Ints, shape: ConvShape) -> bytes:
    """`weights` as [channel][y][x][depth], by Vela."""
    from ethosu import mlw_codec

    ifm_depth, ofm_depth = UBLOCKS[shape.macs_log2]
    stream, _ = mlw_codec.reorder_encode(
        ifm_depth,
        ofm_depth,
        weights.astype(np.int16),
        shape.block_depth,
        shape.is_depthwise,
        shape.part_kernel_first,
        16 if shape.dtype == "int16" else 8,
        8 // shape.dilation[0],
        8 // shape.dilation[1],
    )
    return bytes(stream)


def sums(x: Ints, weights: Ints, shape: ConvShape) -> Ints:
    """Sums of products; `x` has its zero point subtracted."""
    top, left, bottom, right = shape.padding
    if shape.upscale == 1:
        x = x.repeat(2, axis=0).repeat(2, axis=1)
    if shape.upscale == 2:
        spread = np.zeros((*shape.enlarged, x.shape[2]), np.int64)
        spread[::2, ::2] = x
        x = spread
    padded = np.pad(x, ((top, bottom), (left, right), (0, 0)))
    result = np.zeros(shape.ofm, np.int64)
    for place in np.ndindex(*shape.ofm[:2]):
        row, column = place[0] * shape.stride[0], place[1] * shape.stride[1]
        for y, x_tap in np.ndindex(*shape.kernel):
            pixel = padded[row + y * shape.dilation[0], column + x_tap * shape.dilation[1]]
            tap = weights[:, y, x_tap, :]
            result[place] += tap[:, 0] * pixel if shape.is_depthwise else tap @ pixel
    return result


def conv_case(name: str, shape: ConvShape, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    ifm = Map(shape.ifm, shape.dtype, 0 if shape.dtype == "int16" else 7, shape.in_bricks, shape.cut)
    ofm = behind(Map(shape.ofm, shape.dtype, -3, shape.in_bricks), ifm)
    depth = 1 if shape.is_depthwise else shape.ifm[2]
    weights = rng.integers(-127, 128, (shape.channels, *shape.kernel, depth)).astype(np.int64)
    weights[rng.random(weights.shape) < shape.sparse] = 0
    rounding = NATURAL if shape.dtype == "int16" else TFL
    biases = [int(v) for v in rng.integers(-(1 << 20), 1 << 20, shape.channels)]
    factors = [int(v) for v in rng.integers(1 << 30, 1 << 31, shape.channels)]
    shifts = [int(v) for v in rng.integers(36, 42, shape.channels)]
    x = ifm.random(rng)
    expected = sums(x - ifm.zero_point, weights, shape)
    for place in np.ndindex(*shape.ofm):
        c = place[2]
        value = scaled(int(expected[place]) + biases[c], factors[c], shifts[c], rounding)
        expected[place] = stored(value, ofm)
    scales = scale_stream(biases, factors, shifts)
    stream = encoded(weights, shape)
    words = [
        *ifm_registers(ifm),
        *ofm_registers(ofm, rounding),
        *short(0x107, shape.upscale),
        *kernel_registers(shape.kernel, shape.stride, shape.dilation, shape.padding, shape.part_kernel_first),
        *short(0x117, shape.block_depth - 1),
        *short(0x128, CONSTANTS),
        *short(0x129, CONSTANTS),
        *long(0x22, 0),
        *long(0x23, len(scales)),
        *long(0x20, len(scales)),
        *long(0x21, len(stream)),
        *short(3 if shape.is_depthwise else 2),
    ]
    maps = [(ifm, x), (ofm, None)]
    job = job_of(words, maps, scales + stream, shape.macs_log2, shape.weights_count)
    return Case(name, job, ofm, expected)


def scale_stream(biases: Sequence[int], factors: Sequence[int], shifts: Sequence[int]) -> bytes:
    """Ten bytes for each channel, then up to sixteen."""
    entries = b"".join(
        bias.to_bytes(5, "little", signed=True) + factor.to_bytes(4, "little") + bytes([shift])
        for bias, factor, shift in zip(biases, factors, shifts, strict=True)
    )
    return entries + bytes(-len(entries) % 16)
