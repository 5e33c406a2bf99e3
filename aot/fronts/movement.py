"""Features of movement and vibration, independent of any library: filters, moments, spectra per axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from aot.frontend.builder import AddedNodes
from aot.fronts.audio_nodes import add_spectrum
from aot.fronts.model_input import ModelInput
from aot.fronts.spectrum import Matrix
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.binary import Div, Mul, Sub
from aot.ops.biquads import Biquads
from aot.ops.combine import Combination, Combine
from aot.ops.concat import Concat
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.energy import Energy
from aot.ops.fft import Fft, RealSpectrum
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.reduce import Reduce, Reduction
from aot.ops.unary_math import MathFunction, UnaryMath
from aot.wording import counted


class Moment(Enum):
    """A statistic of an axis over a window; the value is its name in declarations."""

    MEAN = "mean"
    STD = "std"
    RMS = "rms"
    SKEW = "skew"
    KURTOSIS = "kurtosis"
    MIN = "min"
    MAX = "max"
    PTP = "ptp"  # largest minus smallest


@dataclass(frozen=True)
class PowerSpectrum:
    """A power spectrum over parts of the window: the mean or the largest energy of each bin."""

    window: Matrix  # factor for each sample of a part
    step: int  # rows from part to part
    factors: Matrix  # of each bin's energy
    without_mean: bool  # subtract each part's mean
    keeps_largest: bool
    least: float | None  # log10 of values clamped to at least this; None: no logarithm

    @property
    def length(self) -> int:
        return len(self.window)

    @property
    def bins(self) -> int:
        return self.length // 2 + 1

    def parts(self, samples: int) -> int:
        return 1 + (samples - self.length) // self.step


@dataclass(frozen=True)
class Movement:
    """Rows of numbers, one per axis. Without moments and spectrum, the filtered rows are the features."""

    sample_rate: float  # rows per second
    samples: int | None  # rows of a window; None: as many as the model needs
    axes: int
    steps: float | None  # value of one unit of the sensor's 16-bit integers; None: floats
    scale: float
    sections: Matrix | None  # [S, 5]: b0, b1, b2, a1, a2
    taps: Matrix | None  # of an FIR filter
    without_mean: bool
    moments: tuple[Moment, ...]
    spectrum: PowerSpectrum | None

    @property
    def is_filter(self) -> bool:
        """Returns whether the output is filtered rows."""
        return not self.moments and self.spectrum is None

    @property
    def features(self) -> int:
        """Returns the number of features per axis."""
        return len(self.moments) + (self.spectrum.bins if self.spectrum is not None else 0)


_LEAST_VARIANCE = 1e-30  # of an axis at rest, whose skew is 0


def add_movement(chain: AddedNodes, movement: Movement) -> None:
    """Converts rows [1, samples, 1, axes] to filtered floats, or to features [1, axes, 1, features]."""
    if chain.type.dtype is DType.I16:
        chain.then("dequantize", Dequantize())
    if movement.scale != 1:
        chain.then("scaled", Mul(), _real(movement.scale))
    if movement.sections is not None:
        chain.then("filter", Biquads(), movement.sections.astype(np.float32))
    if movement.taps is not None:
        _add_taps(chain, movement.taps)
    if movement.is_filter:
        if movement.without_mean:
            _take_off_mean(chain, "", 1)
        return
    samples = chain.type.shape[1]
    shape = (1, movement.axes, 1, samples)
    chain.then("axes", Rearrange(shape, (movement.axes, samples), (1, movement.axes)))
    if movement.without_mean:
        _take_off_mean(chain, "", 3)
    found = _add_moments(chain, movement.moments)
    if movement.spectrum is not None:
        found.append(_add_power(chain.branch(chain.value), movement.spectrum, movement.axes))
    first, *others = found
    chain.value = first
    if others:
        chain.then("features", Concat(axis=3), *others)


def _add_taps(chain: AddedNodes, taps: Matrix) -> None:
    """Filters each axis separately; rows before the first are zeros."""
    axes = chain.type.shape[3]
    weights = np.repeat(taps[::-1, None, None], axes, axis=2).astype(np.float32)
    padding = ((len(taps) - 1, 0), (0, 0))
    chain.then("filter", DepthwiseConv2d(padding=padding), np.ascontiguousarray(weights), None)


def _take_off_mean(chain: AddedNodes, prefix: str, axis: int) -> None:
    mean = chain.branch(chain.value)
    _add_mean(mean, f"{prefix}mean", axis)
    chain.then(f"{prefix}without mean", Sub(), mean.value)


def _add_mean(chain: AddedNodes, label: str, axis: int) -> None:
    count = chain.type.shape[axis]
    chain.then(f"{label}, sum", Reduce(Reduction.SUM, (axis,)))
    chain.then(label, Mul(), _real(1 / count))


def _add_moments(chain: AddedNodes, moments: tuple[Moment, ...]) -> list[str]:
    """Returns the value of each moment, [1, axes, 1, 1]."""
    variance, distance = "", chain.branch(chain.value)
    if {Moment.STD, Moment.SKEW, Moment.KURTOSIS} & set(moments):
        _take_off_mean(distance, "central ", 3)
        square = distance.branch(distance.value)
        square.then("squared distance", UnaryMath(MathFunction.SQUARE))
        _add_mean(square, "variance", 3)
        variance = square.value
    return [_add_moment(chain.branch(chain.value), each, distance.value, variance) for each in moments]


def _add_moment(chain: AddedNodes, moment: Moment, distance: str, variance: str) -> str:
    if moment is Moment.MEAN:
        _add_mean(chain, "mean of axis", 3)
    elif moment is Moment.RMS:
        chain.then("square", UnaryMath(MathFunction.SQUARE))
        _add_mean(chain, "mean square", 3)
        chain.then("rms", UnaryMath(MathFunction.SQRT))
    elif moment is Moment.STD:
        chain.value = variance
        chain.then("std", UnaryMath(MathFunction.SQRT))
    elif moment is Moment.SKEW:
        _add_ratio(chain, "skew", distance, variance)
    elif moment is Moment.KURTOSIS:
        _add_ratio(chain, "kurtosis", distance, variance)
        chain.then("excess", Sub(), _real(3.0))
    else:
        _add_extreme(chain, moment)
    return chain.value


def _add_ratio(chain: AddedNodes, label: str, distance: str, variance: str) -> None:
    """Divides the mean third or fourth power of the distance by that power of the deviation."""
    chain.value = distance
    chain.then(f"{label}, square", UnaryMath(MathFunction.SQUARE))
    if label == "skew":
        chain.then(f"{label}, power", Mul(), distance)
    else:
        chain.then(f"{label}, power", UnaryMath(MathFunction.SQUARE))
    _add_mean(chain, f"{label}, mean", 3)
    below = chain.branch(variance)
    below.then(f"{label}, variance", Combine(Combination.MAXIMUM), _real(_LEAST_VARIANCE))
    power = below.branch(below.value)
    if label == "skew":
        power.then(f"{label}, deviation", UnaryMath(MathFunction.SQRT))
    for step in (f"{label}, over variance", label):
        chain.then(step, Div(), power.value if step == label else below.value)


def _add_extreme(chain: AddedNodes, moment: Moment) -> None:
    rows = chain.value
    if moment is not Moment.MIN:
        chain.then(f"{moment.value}, largest", Reduce(Reduction.MAXIMUM, (3,)))
    if moment is Moment.MIN:
        chain.then("smallest", Reduce(Reduction.MINIMUM, (3,)))
    if moment is Moment.PTP:
        least = chain.branch(rows)
        least.then("ptp, smallest", Reduce(Reduction.MINIMUM, (3,)))
        chain.then("ptp", Sub(), least.value)


def _add_power(chain: AddedNodes, spectrum: PowerSpectrum, axes: int) -> str:
    samples = chain.type.shape[3]
    parts, length, bins = spectrum.parts(samples), spectrum.length, spectrum.bins
    shape = (1, axes * parts, 1, length)
    chain.then("parts", Rearrange(shape, (axes, parts, length), (samples, spectrum.step, 1)))
    if spectrum.without_mean:
        _take_off_mean(chain, "part's ", 3)
    if length & (length - 1) == 0:
        chain.then("window", Mul(), _real(spectrum.window))
        chain.then("fft", Fft(length // 2))
        chain.then("spectrum", RealSpectrum())
    else:
        add_spectrum(chain, spectrum.window, length, bins)
    chain.then("energies", Energy(0, bins))
    chain.then("power", Mul(), _real(spectrum.factors))
    if parts > 1:
        chain.view("power of axes", 1, axes, parts, bins)
        by = Reduction.MAXIMUM if spectrum.keeps_largest else Reduction.SUM
        chain.then("gathered", Reduce(by, (2,)))
        if not spectrum.keeps_largest:
            chain.then("mean power", Mul(), _real(1 / parts))
    if spectrum.least is not None:
        chain.then("power at least", Combine(Combination.MAXIMUM), _real(spectrum.least))
        chain.then("logarithm of power", UnaryMath(MathFunction.LOG))
        chain.then("log10", Mul(), _real(1 / math.log(10)))
    return chain.value


def _real(numbers: Matrix | float) -> Array:
    return np.asarray(numbers, np.float32).reshape(1, 1, 1, -1)


def rows_type(movement: Movement, wanted: ModelInput) -> TensorType:
    """Returns the type of the rows that give the model's input. Raises ModelError if none do."""
    samples = _filtered_rows(movement, wanted) if movement.is_filter else _window(movement, wanted)
    quant = None if movement.steps is None else Quant((movement.steps,), (0,))
    return TensorType(DType.F32 if quant is None else DType.I16, (1, samples, 1, movement.axes), quant)


def add_rows(chain: AddedNodes, movement: Movement, wanted: ModelInput) -> None:
    add_movement(chain, movement)
    if wanted.type.dtype is not DType.F32:
        chain.then("quantize", Quantize(wanted.type.dtype), quant=wanted.type.quant)
    chain.view("input", *wanted.type.shape)


def _filtered_rows(movement: Movement, wanted: ModelInput) -> int:
    rows, rest = divmod(wanted.type.elements, movement.axes)
    if rest or (movement.samples is not None and movement.samples != rows):
        window = "" if movement.samples is None else f" and {counted(movement.samples, 'row')} of a window"
        raise wanted.refusal(
            f"the front end computes {counted(movement.axes, 'number')} for each row{window}, but "
            f"{wanted.said} has shape {list(wanted.type.shape)}",
            "set axes and samples as in training",
        )
    return rows


def _window(movement: Movement, wanted: ModelInput) -> int:
    made = movement.axes * movement.features
    if made != wanted.type.elements:
        raise wanted.refusal(
            f"the front end computes {counted(movement.features, 'feature')} for each axis, "
            f"{movement.axes} axes together {made:,}; but {wanted.said} has {wanted.type.elements:,}: "
            f"{list(wanted.type.shape)}",
            "set axes, features and nperseg as in training",
        )
    if movement.samples is None:
        raise wanted.refusal(
            "the number of rows in a window is not set",
            "set samples, for example samples=125 for two seconds at 62.5 Hz",
        )
    return movement.samples
