"""Transforms: stages of four, with a two, several rows, filled ones, images, three element types."""

from drawing import Draw
from op_case import OpCase, float32, op_case, plain

from aot.ir.types import DType
from aot.ops.fft import Fft, RealSamples, RealSpectrum

_I16, _I32 = DType.I16, DType.I32
CASES = (
    op_case("fft_of_fours", Fft(16), [plain(_I16, 32)], plain(_I16)),
    op_case("fft_with_a_two", Fft(8), [plain(_I16, 3, 16)], plain(_I16)),
    op_case("fft_filled", Fft(32), [plain(_I16, 2, 41)], plain(_I16)),
    op_case("fft_least", Fft(2), [plain(_I16, 4)], plain(_I16)),
    op_case("fft_int32", Fft(8), [plain(_I32, 2, 16)], plain(_I32)),
    op_case("fft_float32", Fft(16), [float32(2, 30)], float32()),
    op_case("fft_image", Fft(8), [plain(_I16, 1, 3, 1, 15)], plain(_I16)),
    op_case("fft_float32_image", Fft(8), [float32(1, 3, 2, 16)], float32()),
    op_case("real_samples_even", RealSamples(), [plain(_I16, 2, 34)], plain(_I16)),
    op_case("real_samples_odd", RealSamples(), [plain(_I16, 12)], plain(_I16)),
    op_case("real_samples_one", RealSamples(), [plain(_I16, 4)], plain(_I16)),
    op_case("real_samples_int32", RealSamples(), [plain(_I32, 18)], plain(_I32)),
    op_case("real_samples_float32", RealSamples(), [float32(2, 18)], float32()),
    op_case("real_samples_image", RealSamples(), [float32(1, 2, 1, 18)], float32()),
    op_case("real_spectrum_even", RealSpectrum(), [plain(_I16, 2, 32)], plain(_I16)),
    op_case("real_spectrum_odd", RealSpectrum(), [plain(_I16, 10)], plain(_I16)),
    op_case("real_spectrum_one", RealSpectrum(), [plain(_I16, 2)], plain(_I16)),
    op_case("real_spectrum_int32", RealSpectrum(), [plain(_I32, 16)], plain(_I32)),
    op_case("real_spectrum_float32", RealSpectrum(), [float32(2, 16)], float32()),
    op_case("real_spectrum_image", RealSpectrum(), [float32(1, 3, 1, 16)], float32()),
)


def _fft(draw: Draw) -> OpCase:
    points, out = 2 ** draw.upto(5), draw.one_of(plain(DType.I16), plain(DType.I32), float32())
    shape = (*draw.shape(draw.upto(1, 0), 3), draw.upto(2 * points))
    return op_case("fft", Fft(points), [plain(out.dtype, *shape)], out)


def _real_samples(draw: Draw) -> OpCase:
    out = draw.one_of(plain(DType.I16), plain(DType.I32), float32())
    shape = (*draw.shape(draw.upto(1, 0), 3), 2 + 2 * draw.upto(9))
    return op_case("real_samples", RealSamples(), [plain(out.dtype, *shape)], out)


def _real_spectrum(draw: Draw) -> OpCase:
    out = draw.one_of(plain(DType.I16), plain(DType.I32), float32())
    shape = (*draw.shape(draw.upto(1, 0), 3), 2 * draw.upto(9))
    return op_case("real_spectrum", RealSpectrum(), [plain(out.dtype, *shape)], out)


SHAPES = {"fft": _fft, "real_samples": _real_samples, "real_spectrum": _real_spectrum}
