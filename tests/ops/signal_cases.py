"""A front end's steps: shifts at both ends, numbers over the whole range, channels of several runs."""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, op_case, plain

from aot.ir.types import DType, TensorType
from aot.ops.signal import FixedLog, Headroom, NoiseEstimate, ShiftUp, WholeRoot, Window, WithoutNoise

_HALF = constant_of((np.hanning(7) * 4096).astype(np.int16))
_SHARES = (
    constant_of(np.array([409, 983, 409], np.uint32)),
    constant_of(np.array([15975, 15401, 15975], np.uint32)),
)


def i16(*shape: int) -> TensorType:
    return plain(DType.I16, *shape)


def u32(*shape: int) -> TensorType:
    return plain(DType.U32, *shape)


CASES = (
    op_case("window_row", Window(12), [i16(1, 7)], i16(), [_HALF]),
    op_case("window_rows", Window(4), [i16(3, 7)], i16(), [_HALF]),
    op_case("window_not_shifted", Window(0), [i16(2, 5), i16(5)], i16()),
    op_case("headroom_many", Headroom(), [i16(480)], plain(DType.I32)),
    op_case("headroom_one", Headroom(), [i16(1)], plain(DType.I32)),
    op_case("headroom_rows", Headroom(each_row=True), [i16(1, 5, 1, 9)], plain(DType.I32)),
    op_case("headroom_vectors", Headroom(each_row=True), [i16(3, 4)], plain(DType.I32)),
    op_case("shift_up_rows", ShiftUp(), [i16(1, 4, 1, 9), plain(DType.I32, 1, 4, 1, 1)], i16()),
    op_case(
        "whole_root_rows", WholeRoot(), [plain(DType.U64, 1, 3, 1, 8), plain(DType.I32, 1, 3, 1, 1)], u32()
    ),
    op_case("shift_up_vector", ShiftUp(), [i16(9), plain(DType.I32)], i16()),
    op_case("whole_root_vector", WholeRoot(), [plain(DType.U64, 40), plain(DType.I32)], u32()),
    op_case("noise_estimate_vector", NoiseEstimate(10, 14), [u32(3), u32(3)], u32(), _SHARES),
    op_case("noise_estimate_limited", NoiseEstimate(0, 14, True), [u32(2, 3)] * 2, u32(), _SHARES),
    op_case("without_noise_vector", WithoutNoise(10, 14, 819), [u32(30), u32(30)], u32()),
    op_case("without_noise_not_shifted", WithoutNoise(0, 0, 0), [u32(5), u32(5)], u32()),
    op_case("fixed_log_vector", FixedLog(3, 64), [u32(40)], i16()),
    op_case("fixed_log_image", FixedLog(0, 2**31 - 1), [u32(1, 2, 3, 4)], i16()),
)


def _fixed_log(draw: Draw) -> OpCase:
    op = FixedLog(draw.upto(6, 0), draw.upto(2**15))
    return op_case("fixed_log", op, [plain(DType.U32, *draw.shape(draw.upto(4)))], plain(DType.I16))


def _headroom(draw: Draw) -> OpCase:
    if draw.chance():
        return op_case(
            "headroom", Headroom(each_row=True), [plain(DType.I16, 1, *draw.shape(3, 9))], plain(DType.I32)
        )
    return op_case("headroom", Headroom(), [plain(DType.I16, draw.upto(60))], plain(DType.I32))


def _noise_estimate(draw: Draw) -> OpCase:
    channels = draw.upto(6)
    x = plain(DType.U32, *draw.shape(draw.upto(1, 0), 4), channels)
    shares = [constant_of(draw.rng.integers(0, 16384, channels).astype(np.uint32)) for _ in range(2)]
    return op_case(
        "noise_estimate", NoiseEstimate(draw.upto(10, 0), 14, draw.chance()), [x, x], plain(DType.U32), shares
    )


def _shift_up(draw: Draw) -> OpCase:
    return op_case(
        "shift_up", ShiftUp(), [plain(DType.I16, draw.upto(30)), plain(DType.I32)], plain(DType.I16)
    )


def _whole_root(draw: Draw) -> OpCase:
    return op_case(
        "whole_root", WholeRoot(), [plain(DType.U64, draw.upto(40)), plain(DType.I32)], plain(DType.U32)
    )


def _window(draw: Draw) -> OpCase:
    size = draw.upto(12)
    weights = constant_of(draw.rng.integers(-4096, 4097, size).astype(np.int16))
    x = plain(DType.I16, *draw.shape(draw.upto(1, 0), 4), size)
    return op_case("window", Window(draw.upto(12, 0)), [x], plain(DType.I16), [weights])


def _without_noise(draw: Draw) -> OpCase:
    x = plain(DType.U32, *draw.shape(draw.upto(2)))
    return op_case(
        "without_noise", WithoutNoise(draw.upto(10, 0), 14, draw.upto(16384, 0)), [x, x], plain(DType.U32)
    )


SHAPES = {
    "fixed_log": _fixed_log,
    "headroom": _headroom,
    "noise_estimate": _noise_estimate,
    "shift_up": _shift_up,
    "whole_root": _whole_root,
    "window": _window,
    "without_noise": _without_noise,
}
