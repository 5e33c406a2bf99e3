"""Transforms are Fourier's; integers are the same, scaled down, to within what their stages round."""

import numpy as np
import pytest
from op_case import float32, op_case, plain

from aot.interpret import run_graph
from aot.ir.types import Array, DType, TensorType
from aot.ops.fft import Fft, RealSpectrum, factors
from aot.ops.op import Op


def result_of(op: Op, x: Array, tensor: TensorType) -> Array:
    case = op_case("transform", op, [tensor], tensor)
    return run_graph(case.graph, {"x0": x})["y"]


def spectrum(x: Array, tensor: TensorType) -> Array:
    """Complex numbers, from 0 to half the length."""
    pairs = result_of(Fft(x.shape[-1] // 2), x, tensor)
    parts = result_of(RealSpectrum(), pairs, TensorType(tensor.dtype, pairs.shape))
    return parts.astype(np.float64).reshape(-1, 2) @ [1, 1j]


@pytest.mark.parametrize("length", [4, 8, 32, 128, 512])
def test_a_transform_of_reals_is_fouriers(length):
    x = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    wanted = np.fft.rfft(x.astype(np.float64))
    assert np.abs(spectrum(x, float32(length)) - wanted).max() < 1e-5 * np.abs(wanted).max()  # type: ignore[operator]


@pytest.mark.parametrize(("dtype", "steps"), [(DType.I16, 4.0), (DType.I32, 4.0)])
@pytest.mark.parametrize("length", [8, 128, 512])
def test_a_transform_of_integers_is_fouriers_by_its_length(length, dtype, steps):
    """Dividing by 4 is by 32767 / 8191 in 16 bits: an eighth of a thousandth at each stage."""
    x = (np.sin(np.arange(length) * 0.7) * dtype.limits[1] * 0.9).astype(dtype.numpy)
    wanted = np.fft.rfft(x.astype(np.float64)) / length
    lost = np.abs(wanted).max() * 3 / 2 ** (dtype.bytes * 8 - 2) * len(factors(length))
    assert np.abs(spectrum(x, plain(dtype, length)) - wanted).max() < steps + lost


def test_a_silence_has_no_spectrum():
    assert not spectrum(np.zeros(64, np.int16), plain(DType.I16, 64)).any()
