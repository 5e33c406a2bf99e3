"""Adds nodes that compute features from 16-bit samples, and fit them to the model's input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from aot.frontend.builder import AddedNodes
from aot.fronts.model_input import ModelInput
from aot.fronts.spectrum import (
    SHARE_BITS,
    WINDOW_BITS,
    ChannelGain,
    Frames,
    IntegerFeatures,
    Integers,
    Logarithm,
    Matrix,
    Spectrum,
)
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.binary import Add, Div, Mul, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.convert import Convert
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSpectrum
from aot.ops.filter_bank import FilterBank
from aot.ops.gain_control import GainControl
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.reduce import Reduce, Reduction
from aot.ops.signal import FixedLog, Headroom, ShiftUp, WholeRoot, Window, WithoutNoise
from aot.ops.smooth import Smooth
from aot.ops.unary_math import MathFunction, UnaryMath
from aot.ops.windows import Windows
from aot.wording import counted

# Spectra of any number of samples by Bluestein's algorithm: convolution with a chirp of a fast length.


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


SAMPLE = Quant((2.0**-15,), (0,))  # 16-bit samples represent numbers from -1 to 1
_LEAST_PEAK = 2.0**-15  # avoids division by zero in a silent clip


def add_features(chain: AddedNodes, spectrum: Spectrum, frames: int) -> None:
    """Converts samples [1, n] to float features [1, frames, 1, features]."""
    samples = add_frames(chain, spectrum.frames, frames)
    used = _used_bins(spectrum)
    chain.then("dequantize", Dequantize())
    if spectrum.is_fast:
        chain.then("window", Mul(), _real(spectrum.frames.window))
        chain.then("fft", Fft(spectrum.fft_length // 2))
        chain.then("spectrum", RealSpectrum())
    else:
        add_spectrum(chain, spectrum.frames.window, spectrum.fft_length, spectrum.bins)
    chain.then("energies", Energy(*used))
    if spectrum.power == 1:
        chain.then("magnitudes", UnaryMath(MathFunction.SQRT))
    if spectrum.filters is not None:
        chain.then("filters", FilterBank(), *_filter_operands(spectrum.filters))
    if spectrum.by_largest:
        chain.then("over largest", Div(), _largest(chain.branch(samples), spectrum.power))
    if spectrum.channel_gain is not None:
        _add_channel_gain(chain, spectrum.channel_gain)
    if spectrum.logarithm is not None:
        _add_logarithm(chain, spectrum.logarithm)
    if spectrum.cosines is not None:
        table = spectrum.cosines.T[:, None, None, :].astype(np.float32)
        chain.then("cosines", Conv2d(), np.ascontiguousarray(table), None)


def columns_of(frames: Frames, samples: int) -> int:
    """Returns the number of samples per input row: frames begin at rows."""
    return math.gcd(frames.hop, samples, frames.mirrored)


def add_frames(chain: AddedNodes, frames: Frames, count: int) -> str:
    """Converts samples [1, n] to frames [1, count, 1, frame length]; returns the value of the samples."""
    columns = columns_of(frames, chain.type.elements)
    chain.view("samples", 1, chain.type.elements // columns, columns, 1)
    samples = chain.value
    if frames.mirrored:
        _add_mirrored_ends(chain, frames.mirrored, columns)
    op = Windows(rows=count, length=len(frames.window), step=frames.hop, before=frames.before)
    chain.then("frames", op, quant=SAMPLE)
    chain.view("row each", 1, count, 1, len(frames.window))
    return samples


def _add_mirrored_ends(chain: AddedNodes, count: int, columns: int) -> None:
    """Mirrors samples before the first and after the last, without repeating these two."""
    image, samples = chain.value, chain.type.elements
    ends = []
    for label, first in (("before", count), ("after", samples - 2)):
        end = chain.branch(image)
        sizes = (1, count // columns, columns, 1)
        end.then(label, Rearrange(sizes, sizes, (0, -columns, -1, 0), first), quant=SAMPLE)
        ends.append(end.value)
    joined = chain.branch(ends[0])
    joined.then("mirrored", Concat(axis=1), image, ends[1], quant=SAMPLE)
    chain.value = joined.value


def _used_bins(spectrum: Spectrum) -> tuple[int, int]:
    """Returns the first bin that a filter reads, and the end of the range (exclusive)."""
    if spectrum.filters is None:
        return 0, spectrum.bins
    read = np.flatnonzero(spectrum.filters.any(axis=1))
    return (int(read[0]), int(read[-1]) + 1) if read.size else (0, 0)


def _filter_operands(filters: Matrix) -> tuple[Array, Array]:
    """Returns the first bin of each channel, and its weights from there on, the same number for each."""
    ranges = [_range(np.flatnonzero(column)) for column in filters.T]
    width = max(end - first for first, end in ranges)
    first = np.array([min(first, len(filters) - width) for first, _ in ranges], np.int32)
    weights = np.stack([column[f : f + width] for f, column in zip(first, filters.T, strict=True)])
    return first, weights.astype(np.float32)


def _range(used: npt.NDArray[np.intp]) -> tuple[int, int]:
    return (int(used[0]), int(used[-1]) + 1) if used.size else (0, 1)


def _largest(samples: AddedNodes, power: int) -> str:
    """Returns the largest sample of the clip, raised to the power of the results."""
    columns = samples.type.shape[2]
    samples.then("largest of rows", MaxPool2d((1, columns), (1, columns)), quant=SAMPLE)
    samples.then("largest", Reduce(Reduction.MAXIMUM, (1,)), quant=SAMPLE)
    samples.then("largest as number", Dequantize())
    samples.then("largest above 0", Combine(Combination.MAXIMUM), _real(_LEAST_PEAK))
    if power == 1:
        return samples.value
    return samples.then("largest squared", UnaryMath(MathFunction.SQUARE))


def _add_channel_gain(chain: AddedNodes, words: ChannelGain) -> None:
    if words.times != 1:
        chain.then("times", Mul(), _real(words.times))
    smooth = chain.branch(chain.value)
    channels = np.ones(chain.type.shape[3])
    shares = _real(words.share * channels), _real((1 - words.share) * channels)
    smooth.then("smooth", Smooth(first=1.0), *shares)
    smooth.then("with floor", Add(), _real(words.floor))
    _raise(smooth, "gain", -words.gain)
    chain.then("over smooth", Mul(), smooth.value)
    chain.then("with bias", Add(), _real(words.bias if words.power else 1.0))
    if not words.power:
        chain.then("logarithm", UnaryMath(MathFunction.LOG))
        return
    _raise(chain, "power", words.power)
    chain.then("less bias", Sub(), _real(words.bias**words.power))


def _raise(chain: AddedNodes, label: str, power: float) -> None:
    """Raises positive numbers to a power."""
    if power == 0.5:
        chain.then(label, UnaryMath(MathFunction.SQRT))
        return
    chain.then(f"{label}, logarithm", UnaryMath(MathFunction.LOG))
    chain.then(f"{label}, times", Mul(), _real(power))
    chain.then(label, UnaryMath(MathFunction.EXP))


def _add_logarithm(chain: AddedNodes, logarithm: Logarithm) -> None:
    if logarithm.least:
        chain.then("at least", Combine(Combination.MAXIMUM), _real(logarithm.least))
    if logarithm.offset:
        chain.then("with offset", Add(), _real(logarithm.offset))
    chain.then("logarithm", UnaryMath(MathFunction.LOG))
    if logarithm.factor != 1:
        chain.then("scaled", Mul(), _real(logarithm.factor))
    if logarithm.shift:
        chain.then("shifted", Add(), _real(logarithm.shift))
    if logarithm.range is not None:
        floor = chain.branch(chain.value)
        floor.then("loudest", Reduce(Reduction.MAXIMUM, (1, 3)))
        floor.then("floor", Sub(), _real(logarithm.range))
        chain.then("above floor", Combine(Combination.MAXIMUM), floor.value)


def _real(numbers: Matrix | float) -> Array:
    """Returns a constant that is the same for each row."""
    return np.asarray(numbers, np.float32).reshape(1, 1, 1, -1)


_LARGEST_LEVEL = 65_535.0  # of a level without logarithm


def add_integer_features(chain: AddedNodes, features: IntegerFeatures, frames: int) -> None:
    """Converts samples [1, n] to float features [1, frames, 1, features]."""
    if features.continuous:
        _add_history(chain, features.frames)
    add_frames(chain, features.frames, frames)
    chain.then("window", Window(WINDOW_BITS), _row(features.frames.window, np.int16))
    bits = chain.branch(chain.value)
    bits.then("free bits", Headroom(each_row=True))
    chain.then("loudest", ShiftUp(), bits.value)
    chain.then("fft", Fft(features.fft_length // 2))
    chain.then("spectrum", RealSpectrum())
    chain.then("energies", Energy(*features.bins))
    chain.then("filters", FilterBank(), *_windows(features.filters))
    chain.then("levels", WholeRoot(), bits.value)
    _add_noise_reduction(chain, features)
    if features.log_up is not None:
        chain.then("logarithm", FixedLog(features.log_up, features.log_scale))
    chain.then("as numbers", Convert(DType.F32))
    if features.log_up is None:
        chain.then("at most", Combine(Combination.MINIMUM), _row(_LARGEST_LEVEL, np.float32))
    if features.times != 1:
        chain.then("scaled", Mul(), _row(features.times, np.float32))


def _add_history(chain: AddedNodes, frames: Frames) -> None:
    """Prepends the samples that the run's first frame needs, kept from the previous run."""
    history, samples = len(frames.window) - frames.hop, chain.type.elements
    if history <= 0:
        return
    columns = math.gcd(frames.hop, history)
    chain.view("samples", 1, samples // columns, columns, 1)
    size = (1, history // columns, columns, 1)
    before = chain.state("samples before", np.zeros(size, np.int16), SAMPLE)
    joined = chain.branch(before)
    joined.then("joined", Concat(axis=1), chain.value, quant=SAMPLE)
    last = chain.branch(joined.value)
    last.then("last samples", Rearrange(size, size, (0, columns, 1, 0), samples), quant=SAMPLE)
    chain.keep(before, last.value)
    chain.value = joined.value


def _add_noise_reduction(chain: AddedNodes, features: IntegerFeatures) -> None:
    noise = features.noise
    every = np.array(noise.new)[np.arange(features.features) % 2]
    estimate = chain.branch(chain.value)
    shares = _row(every, np.uint32), _row((1 << SHARE_BITS) - every, np.uint32)
    size = (1, 1, 1, features.features)
    before = (estimate.state("noise before", np.zeros(size, np.uint32)),) if features.continuous else ()
    estimate.then("noise", Smooth(noise.up, SHARE_BITS), *shares, *before)
    if before:
        last = estimate.branch(estimate.value)
        place = estimate.type.elements - features.features
        last.then("last noise", Rearrange(size, size, (0, 0, 0, 1), place))
        estimate.keep(before[0], last.value)
    chain.then("without noise", WithoutNoise(noise.up, SHARE_BITS, noise.least), estimate.value)
    if features.gain is not None:
        chain.then("gain", GainControl(features.gain.shift), estimate.value, features.gain.gains)


def _windows(filters: Integers) -> tuple[Array, Array]:
    """Returns the first bin of each channel, and its weights from there on, the same number for each."""
    used = [np.flatnonzero(row) for row in filters]
    width = max((int(u[-1] - u[0]) + 1 for u in used if u.size), default=1)
    first = np.array([min(int(u[0]), filters.shape[1] - width) if u.size else 0 for u in used], np.int32)
    return first, np.stack([row[f : f + width] for f, row in zip(first, filters, strict=True)]).astype(
        np.int32
    )


def _row(numbers: object, dtype: type[np.generic]) -> Array:
    """Returns a constant that is the same for each row."""
    return np.asarray(numbers).astype(dtype).reshape(1, 1, 1, -1)


Sound = Spectrum | IntegerFeatures


def samples_type(sound: Sound, wanted: ModelInput) -> TensorType:
    """Returns the type of the clip that gives the model's input. Raises ModelError if no clip does."""
    frames, _ = _frames(sound, wanted)
    return TensorType(DType.I16, (1, _samples(sound, frames, wanted)), SAMPLE)


def add_audio(chain: AddedNodes, sound: Sound, wanted: ModelInput) -> None:
    frames, is_turned = _frames(sound, wanted)
    if isinstance(sound, Spectrum):
        add_features(chain, sound, frames)
    else:
        add_integer_features(chain, sound, frames)
    target = wanted.type
    if target.dtype is not DType.F32:
        chain.then("quantize", Quantize(target.dtype), quant=target.quant)
    if is_turned:
        features = sound.features
        chain.then("turned", Rearrange(target.shape, (features, frames), (1, features)), quant=target.quant)
    elif chain.type.shape != target.shape:
        chain.view("input", *target.shape)


def _frames(sound: Sound, wanted: ModelInput) -> tuple[int, bool]:
    """Returns the number of frames in the model's input, and whether features come before frames."""
    target, features = wanted.type, sound.features
    sizes = tuple(size for size in target.shape if size != 1)
    frames = target.elements // features
    if target.elements % features == 0:
        kept = tuple(size for size in (frames, features) if size != 1)
        fitting = [sizes in (kept, (target.elements,)), sizes == kept[::-1]]
        for is_turned in (True, False) if sound.frames_last else (False, True):
            if fitting[is_turned]:
                return frames, is_turned
    raise wanted.refusal(
        f"the front end computes {counted(features, 'feature')} for each frame, but "
        f"{wanted.said} has shape {list(target.shape)}",
        "one dimension must be the features, the product of the others the frames",
    )


def _samples(sound: Sound, frames: int, wanted: ModelInput) -> int:
    least = sound.frames.least_samples(frames)
    samples = sound.samples or max(least, sound.frames.mirrored + 1)
    made = sound.frames.count(samples)
    if made == frames:
        return samples
    most = least + sound.frames.hop - 1
    raise wanted.refusal(
        f"{counted(samples, 'sample')} give {counted(made, 'frame')}, "
        f"but {wanted.said} has {frames}: {list(wanted.type.shape)}",
        f"set samples to {least:,} to {most:,}, or change the step between frames",
    )
