"""Draws the shapes of ops that no TFLite operator with one node becomes: a front end's, ONNX's, our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from biquads_cases import case as filtered
from blobs_cases import case as blobs
from contract_cases import matrices
from conv2d_add_cases import case as added
from demosaic_cases import case as mosaic
from detect_cases import case as detections
from drawing import Draw
from gain_control_cases import CASES as GAIN_CASES
from hybrid_dense_cases import case as hybrid
from lookup_cases import case as looked_up
from non_max_suppression_cases import case as suppressed
from op_case import OpCase, constant_of, float32, int8, op_case, plain
from recurrent_cases import integers, recurrent
from smooth_cases import case as smoothed

from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.blobs import Blobs
from aot.ops.conv2d import Conv2d
from aot.ops.demosaic import Mosaic
from aot.ops.detect import Detect
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSamples, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.gain_control import GainControl
from aot.ops.hybrid_dense import HybridDense
from aot.ops.non_max_suppression import NonMaxSuppression
from aot.ops.own_steps import InOwnSteps, MeasuredRange, RangeFact
from aot.ops.recurrent import Cell, Recurrent
from aot.ops.round_mantissa import RoundMantissa
from aot.ops.signal import FixedLog, Headroom, NoiseEstimate, ShiftUp, WholeRoot, Window, WithoutNoise
from aot.ops.smooth import Smooth
from aot.ops.unpack_rgb565 import UnpackRgb565
from aot.ops.update_slice import UpdateSlice
from aot.ops.windows import Windows

U8, I16, I32, U32, U64 = (plain(dtype) for dtype in (DType.U8, DType.I16, DType.I32, DType.U32, DType.U64))
_GAINS = GAIN_CASES[0].graph.constants["c0"]


def _contract(draw: Draw) -> OpCase:
    batch, rows, depth, columns = draw.shape(4, 6)
    pair = [(batch, rows, depth), (batch, depth, columns)]
    dtype, result = draw.one_of((DType.I8, I32), (DType.U8, I32), (DType.F32, float32()))
    op = matrices(batch, rows, depth, columns)
    return op_case("contract", op, [plain(dtype, *shape) for shape in pair], result)


def _conv2d_add(draw: Draw) -> OpCase:
    kernel, x = draw.shape(2, 3), int8(1, *draw.shape(3, 6), zero_point=draw.upto(127, -128))
    stride = draw.upto(2), draw.upto(2)
    op = Conv2d(stride, padding=((kernel[0] // 2, kernel[0]), (kernel[1] // 2, kernel[1])))
    return added("any", op, x, (draw.upto(6), kernel[0], kernel[1]))


def _detect(draw: Draw) -> OpCase:
    op = Detect(
        draw.upto(6), draw.one_of(-9.0, 0.0), draw.one_of(0.2, 1.0), by_class=draw.one_of(False, True)
    )
    return detections("any", op, draw.upto(20), classes=draw.one_of(0, draw.upto(3)))


def _non_max_suppression(draw: Draw) -> OpCase:
    boxes = draw.upto(9)
    least, overlap, centred = draw.one_of(-9.0, 0.5), draw.one_of(0.0, 0.2, 1.0), draw.one_of(False, True)
    op = NonMaxSuppression(draw.upto(boxes), least, overlap, centred)
    return suppressed("any", op, draw.upto(2), draw.upto(3), boxes)


def _blobs(draw: Draw) -> OpCase:
    op = Blobs(draw.upto(6), draw.one_of(-9.0, 0.0, 1.0))
    return blobs("any", op, draw.upto(5), draw.upto(5), 1 + draw.upto(3))


def _demosaic(draw: Draw) -> OpCase:
    return mosaic("any", draw.one_of(*Mosaic), 2 + draw.upto(5), 2 + draw.upto(8))


def _unpack_rgb565(draw: Draw) -> OpCase:
    shape = draw.one_of((draw.upto(9), 2), (1, draw.upto(4), draw.upto(7), 2))
    return op_case("unpack_rgb565", UnpackRgb565(draw.one_of(False, True)), [plain(DType.U8, *shape)], U8)


def _energy(draw: Draw) -> OpCase:
    pairs = draw.upto(12)
    first = draw.upto(pairs, 0)
    dtype, result = draw.one_of((DType.I16, U32), (DType.F32, float32()))
    shape = draw.one_of((2 * pairs,), (draw.upto(3), 2 * pairs), (1, draw.upto(3), draw.upto(2), 2 * pairs))
    return op_case("energy", Energy(first, draw.upto(pairs, first)), [plain(dtype, *shape)], result)


def _fft(draw: Draw) -> OpCase:
    points, out = 2 ** draw.upto(5), draw.one_of(I16, I32, float32())
    shape = (*draw.shape(draw.upto(1, 0), 3), draw.upto(2 * points))
    return op_case("fft", Fft(points), [plain(out.dtype, *shape)], out)


def _real_samples(draw: Draw) -> OpCase:
    out = draw.one_of(I16, I32, float32())
    shape = (*draw.shape(draw.upto(1, 0), 3), 2 + 2 * draw.upto(9))
    return op_case("real_samples", RealSamples(), [plain(out.dtype, *shape)], out)


def _real_spectrum(draw: Draw) -> OpCase:
    out = draw.one_of(I16, I32, float32())
    shape = (*draw.shape(draw.upto(1, 0), 3), 2 * draw.upto(9))
    return op_case("real_spectrum", RealSpectrum(), [plain(out.dtype, *shape)], out)


def _filter_bank(draw: Draw) -> OpCase:
    width, channels = draw.upto(6), draw.upto(20)
    energies = draw.upto(30, width)
    first = np.sort(draw.rng.integers(0, energies - width + 1, channels)).astype(np.int32)
    weights = draw.rng.integers(-4096, 4097, (channels, width)).astype(np.int32)
    constants = [constant_of(first), constant_of(weights)]
    return op_case("filter_bank", FilterBank(), [plain(DType.U32, energies)], U64, constants)


def _gain_control(draw: Draw) -> OpCase:
    x = plain(DType.U32, draw.upto(40))
    return op_case("gain_control", GainControl(draw.upto(20)), [x, x], U32, [constant_of(_GAINS)])


def _lookup(draw: Draw) -> OpCase:
    return looked_up("any", int8(*draw.shape(draw.upto(4)), zero_point=draw.upto(127, -128)))


def _round_mantissa(draw: Draw) -> OpCase:
    op = draw.one_of(RoundMantissa(10, -14, 65504.0), RoundMantissa(3, -6, 448.0), RoundMantissa(1, 0, 6.0))
    return op_case("round_mantissa", op, [float32(*draw.shape(draw.upto(4)))], float32())


def _recurrent(draw: Draw) -> OpCase:
    if draw.chance():
        return integers("any", draw.upto(4), draw.upto(2), draw.upto(9), draw.chance(), draw.one_of(0.0, 0.5))
    cell, is_given = draw.one_of(*Cell), draw.chance()
    op = Recurrent(cell, gives_cell=is_given and cell is Cell.LSTM, clip=draw.one_of(0.0, 0.7))
    given = draw.one_of("", "h", "hc", "rbphc")
    return recurrent("any", op, draw.upto(4), draw.upto(2), draw.upto(9), given, draw.chance())


def _noise_estimate(draw: Draw) -> OpCase:
    channels = draw.upto(6)
    x = plain(DType.U32, *draw.shape(draw.upto(1, 0), 4), channels)
    shares = [constant_of(draw.rng.integers(0, 16384, channels).astype(np.uint32)) for _ in range(2)]
    return op_case("noise_estimate", NoiseEstimate(draw.upto(10, 0), 14, draw.chance()), [x, x], U32, shares)


def _without_noise(draw: Draw) -> OpCase:
    x = plain(DType.U32, *draw.shape(draw.upto(2)))
    return op_case("without_noise", WithoutNoise(draw.upto(10, 0), 14, draw.upto(16384, 0)), [x, x], U32)


def _fixed_log(draw: Draw) -> OpCase:
    op = FixedLog(draw.upto(6, 0), draw.upto(2**15))
    return op_case("fixed_log", op, [plain(DType.U32, *draw.shape(draw.upto(4)))], I16)


def _headroom(draw: Draw) -> OpCase:
    if draw.chance():
        return op_case("headroom", Headroom(each_row=True), [plain(DType.I16, 1, *draw.shape(3, 9))], I32)
    return op_case("headroom", Headroom(), [plain(DType.I16, draw.upto(60))], I32)


def _biquads(draw: Draw) -> OpCase:
    section = [0.25, -0.5, 0.125, -0.75, 0.25]
    return filtered("any", [section] * draw.upto(3), *draw.shape(3, 5))


def _hybrid_dense(draw: Draw) -> OpCase:
    op = HybridDense(draw.one_of(Activation.NONE, Activation.RELU), draw.chance())
    return hybrid("any", op, draw.upto(3), draw.upto(30), draw.upto(9), draw.one_of(None, 0), draw.chance())


def _in_own_steps(draw: Draw) -> OpCase:
    shape = draw.shape(draw.upto(4))
    others = [draw.one_of(shape, (1,) * len(shape)) for _ in range(3)]
    return op_case("in_own_steps", InOwnSteps(), [float32(*each) for each in (shape, *others)], float32())


def _measured_range(draw: Draw) -> OpCase:
    shape = draw.shape(draw.upto(4))
    op = MeasuredRange(draw.one_of(*RangeFact))
    return op_case("measured_range", op, [float32(*shape), float32(*shape)], float32())


def _smooth(draw: Draw) -> OpCase:
    if draw.chance():
        return smoothed(
            "any", Smooth(first=draw.one_of(0.0, 1.0)), DType.F32, *draw.shape(3, 5), goes_on=draw.chance()
        )
    return smoothed("any", Smooth(draw.upto(10, 0), 14, draw.upto(9, 0)), DType.U32, *draw.shape(3, 5))


def _shift_up(draw: Draw) -> OpCase:
    return op_case("shift_up", ShiftUp(), [plain(DType.I16, draw.upto(30)), I32], I16)


def _whole_root(draw: Draw) -> OpCase:
    return op_case("whole_root", WholeRoot(), [plain(DType.U64, draw.upto(40)), I32], U32)


def _window(draw: Draw) -> OpCase:
    size = draw.upto(12)
    weights = constant_of(draw.rng.integers(-4096, 4097, size).astype(np.int16))
    x = plain(DType.I16, *draw.shape(draw.upto(1, 0), 4), size)
    return op_case("window", Window(draw.upto(12, 0)), [x], I16, [weights])


def _windows(draw: Draw) -> OpCase:
    rows, step, length = draw.upto(5), draw.upto(6), draw.upto(8)
    x = int8(1, *draw.shape(3, 6), zero_point=draw.upto(127, -128))
    return op_case("windows", Windows(step, length, rows, draw.upto(3, 0)), [x], x)


def _update_slice(draw: Draw) -> OpCase:
    whole = draw.shape(draw.upto(4))
    part = tuple(draw.upto(n) for n in whole)
    dtype = draw.one_of(DType.I8, DType.I32, DType.F32, DType.BOOL)
    begins = constant_of(draw.rng.integers(-2, 7, len(whole)).astype(np.int32))
    return op_case(
        "update_slice", UpdateSlice(), [plain(dtype, *whole), plain(dtype, *part)], plain(dtype), [begins]
    )


SHAPES: Mapping[str, Callable[[Draw], OpCase]] = {
    "blobs": _blobs,
    "contract": _contract,
    "conv2d+add": _conv2d_add,
    "biquads": _biquads,
    "demosaic": _demosaic,
    "detect": _detect,
    "energy": _energy,
    "unpack_rgb565": _unpack_rgb565,
    "fft": _fft,
    "filter_bank": _filter_bank,
    "fixed_log": _fixed_log,
    "gain_control": _gain_control,
    "headroom": _headroom,
    "hybrid_dense": _hybrid_dense,
    "in_own_steps": _in_own_steps,
    "lookup": _lookup,
    "measured_range": _measured_range,
    "non_max_suppression": _non_max_suppression,
    "noise_estimate": _noise_estimate,
    "real_samples": _real_samples,
    "real_spectrum": _real_spectrum,
    "recurrent": _recurrent,
    "round_mantissa": _round_mantissa,
    "shift_up": _shift_up,
    "smooth": _smooth,
    "update_slice": _update_slice,
    "whole_root": _whole_root,
    "window": _window,
    "windows": _windows,
    "without_noise": _without_noise,
}
