"""Spectra of any number of samples by Bluestein's algorithm: convolution with a chirp of a fast length."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from aot.frontend.builder import AddedNodes
from aot.fronts.spectrum import Matrix
from aot.ir.types import Array
from aot.ops.binary import Add, Mul
from aot.ops.fft import Fft
from aot.ops.rearrange import Rearrange

Complex = npt.NDArray[np.complexfloating[Any, Any]]
LONGEST = 10_922  # longest whose convolution fits the longest fast transform


def add_spectrum(chain: AddedNodes, window: Matrix, length: int, bins: int) -> None:
    """Turns frames of samples into pairs whose energies are those of a spectrum of `length` samples.

    With w[j] = exp(-i pi j^2 / length), bin k is w[k] times the sum of x[j] w[j] conj(w[k - j]), which is a
    convolution. The factor w[k] has magnitude 1, so energies do not need it. The inverse transform of a
    product of transforms is computed as a transform of its conjugate.
    """
    _, frames, _, samples = chain.type.shape
    points = 1 << (samples + bins - 2).bit_length()
    chirp = np.exp(-1j * np.pi * ((np.arange(max(samples, bins)) ** 2) % (2 * length)) / length)
    chain.then("twice", Rearrange((1, frames, samples, 2), (1, frames, samples, 2), (0, samples, 1, 0)))
    chain.view("pairs", 1, frames, 1, 2 * samples)
    chain.then("window", Mul(), _pairs(window * chirp[:samples]))
    chain.then("fft", Fft(points))
    transform = chain.value
    answer = np.fft.fft(_answer(chirp.conj(), samples, bins, points)) / points
    size = (1, frames, points, 2)
    crossed = chain.branch(transform)
    crossed.then("crossed", Rearrange(size, size, (0, 2 * points, 2, -1), 1))
    crossed.view("crossed pairs", 1, frames, 1, 2 * points)
    crossed.then("by imaginary", Mul(), _pairs(-answer.imag * (1 + 1j)))
    chain.then("by real", Mul(), _pairs(answer.real * (1 - 1j)))
    chain.then("product", Add(), crossed.value)
    chain.then("spectrum", Fft(points))
    kept = (1, frames, 1, 2 * bins)
    chain.then("bins", Rearrange(kept, kept, (0, 2 * points, 0, 1)))


def _answer(numbers: Complex, samples: int, bins: int, points: int) -> Complex:
    """Returns the chirp at each distance between bin and sample; negative distances come last."""
    around = np.zeros(points, np.complex128)
    around[:bins] = numbers[:bins]
    around[points - samples + 1 :] = numbers[1:samples][::-1]
    return around


def _pairs(numbers: Complex) -> Array:
    """Returns a constant of interleaved complex pairs, the same for each frame."""
    parts = np.stack([numbers.real, numbers.imag], axis=-1)
    return parts.astype(np.float32).reshape(1, 1, 1, -1)
