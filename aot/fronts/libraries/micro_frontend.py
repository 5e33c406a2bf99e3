"""Features of TFLite Micro's micro_frontend, with the parameters of TensorFlow's audio_microfrontend.

Its tables are computed in single precision, as in the C library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.frontend.declared import DeclarationError
from aot.fronts.libraries.checks import require_band, require_positive
from aot.fronts.spectrum import (
    SHARE_BITS,
    WINDOW_BITS,
    Frames,
    GainTable,
    IntegerFeatures,
    Integers,
    Matrix,
    NoiseReduction,
)

_SINGLE = np.float32
_RATIO_BITS = 12  # of level / noise
_INTERVALS = 32  # sizes of noise, by number of bits
_MOST_GAIN = 2**15 - 1


@dataclass(frozen=True, kw_only=True)
class MicroFrontend:
    """Equals the C library. Windows and steps are in milliseconds; out_scale divides the results.

    If continuous, each run continues with the samples after the previous run, and noise covers all runs.
    """

    sample_rate: int = 16000
    window_size: int = 25
    window_step: int = 10
    num_channels: int = 32
    upper_band_limit: float = 7500.0
    lower_band_limit: float = 125.0
    smoothing_bits: int = 10
    even_smoothing: float = 0.025
    odd_smoothing: float = 0.06
    min_signal_remaining: float = 0.05
    enable_pcan: bool = False
    pcan_strength: float = 0.95
    pcan_offset: float = 80.0
    gain_bits: int = 21
    enable_log: bool = True
    scale_shift: int = 6
    out_scale: float = 1.0
    samples: int | None = None
    continuous: bool = False

    def front(self) -> IntegerFeatures:
        require_positive(
            sample_rate=self.sample_rate,
            window_size=self.window_size,
            window_step=self.window_step,
            num_channels=self.num_channels,
            out_scale=self.out_scale,
        )
        require_band(
            self.lower_band_limit,
            self.upper_band_limit,
            self.sample_rate,
            ("lower_band_limit", "upper_band_limit"),
        )
        self._require_within()
        size, step = (ms * self.sample_rate // 1000 for ms in (self.window_size, self.window_step))
        fft_length = max(4, 1 << (size - 1).bit_length())
        first, end, filters = _filters(self, fft_length)
        correction = fft_length.bit_length() - 1 - WINDOW_BITS // 2
        return IntegerFeatures(
            sample_rate=self.sample_rate,
            samples=self.samples,
            frames=Frames(_window(size), step, span=step if self.continuous else size),
            fft_length=fft_length,
            bins=(first, end),
            filters=filters,
            noise=NoiseReduction(
                self.smoothing_bits,
                (_share(self.even_smoothing), _share(self.odd_smoothing)),
                _share(self.min_signal_remaining),
            ),
            gain=self._gain(correction) if self.enable_pcan else None,
            log_up=correction if self.enable_log else None,
            log_scale=1 << self.scale_shift,
            times=1 / self.out_scale,
            continuous=self.continuous,
        )

    def _require_within(self) -> None:
        shares = ("even_smoothing", "odd_smoothing", "min_signal_remaining")
        limits = {"smoothing_bits": (0, 16), "scale_shift": (0, 16), "gain_bits": (18, 30)}
        for name, (low, high) in {**dict.fromkeys(shares, (0, 1)), **limits}.items():
            if not low <= getattr(self, name) <= high:
                raise DeclarationError(f"{name} must be {low} to {high}, not {getattr(self, name):g}")
        if not 4 <= self.window_size * self.sample_rate // 1000 <= 1 << 14:
            raise DeclarationError(
                f"window_size is {self.window_size} ms, at {self.sample_rate} samples a second that must be "
                f"4 to {1 << 14} samples"
            )

    def _gain(self, correction: int) -> GainTable:
        bits = self.smoothing_bits - correction
        return GainTable(_gains(self, bits), self.gain_bits - correction - _RATIO_BITS)


def _share(number: float) -> int:
    return int(_SINGLE(number) * _SINGLE(1 << SHARE_BITS))


def _window(size: int) -> Matrix:
    """Returns a Hann window sampled between points, in integer units."""
    angle = _SINGLE(math.pi) * _SINGLE(2) / _SINGLE(size)
    places = angle * (np.arange(size, dtype=_SINGLE) + _SINGLE(0.5))
    cosines = np.array([math.cos(float(place)) for place in places], _SINGLE)
    heights = _SINGLE(0.5) - _SINGLE(0.5) * cosines
    steps: Matrix = np.floor(heights * _SINGLE(1 << WINDOW_BITS) + _SINGLE(0.5)).astype(np.float64)
    return steps


def _mel(hertz: float) -> np.float32:
    mel: np.float32 = _SINGLE(1127) * np.log1p(_SINGLE(hertz) / _SINGLE(700))
    return mel


def _filters(words: MicroFrontend, fft_length: int) -> tuple[int, int, Integers]:
    """Returns the bins that are read, and each channel's triangular weights."""
    count = words.num_channels + 1
    low, high = _mel(words.lower_band_limit), _mel(words.upper_band_limit)
    middles = low + (high - low) / _SINGLE(count) * np.arange(1, count + 1, dtype=_SINGLE)
    hertz = _SINGLE(words.sample_rate / 2) / _SINGLE(fft_length // 2)
    first = int(1.5 + words.lower_band_limit / float(hertz))
    filters = np.zeros((words.num_channels, fft_length // 2 + 1), np.int64)
    place = first
    for number, middle in enumerate(middles):
        below = low if number == 0 else middles[number - 1]
        while place < filters.shape[1] and (mel := _mel(_SINGLE(place) * hertz)) <= middle:
            weight = (middle - mel) / (middle - below)
            if number > 0:
                filters[number - 1, place] += _steps(weight)
            if number < words.num_channels:
                filters[number, place] += _steps(_SINGLE(1) - weight)
            place += 1
    return first, place, filters


def _steps(weight: np.float32) -> int:
    return int(np.floor(weight * _SINGLE(1 << WINDOW_BITS) + _SINGLE(0.5)))


def _gains(words: MicroFrontend, bits: int) -> npt.NDArray[np.int16]:
    """Returns two gains, then a parabola per size of noise: start, slope and bend."""
    gains = [_gain(words, bits, 0), _gain(words, bits, 1)]
    for size in range(2, _INTERVALS + 1):
        start = 1 << (size - 1)
        end = 2 * start - (size == _INTERVALS)
        here, middle, there = (_gain(words, bits, x) for x in (start, start + start // 2, end))
        slope = 4 * (middle - here) - (there - here)
        gains += [here, slope, there - here - slope, 0]
    return np.array(gains[:-1], np.int64).astype(np.int16)


def _gain(words: MicroFrontend, bits: int, noise: int) -> int:
    level = _SINGLE(noise) / _SINGLE(2.0**bits) + _SINGLE(words.pcan_offset)
    power = _SINGLE(float(level) ** -float(_SINGLE(words.pcan_strength)))
    gain = _SINGLE(1 << words.gain_bits) * power
    return _MOST_GAIN if gain > _MOST_GAIN else int(gain + _SINGLE(0.5))
