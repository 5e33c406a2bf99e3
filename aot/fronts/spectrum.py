"""Audio features, independent of any library, as floats or as integers, and their filters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Frames:
    """Frame t begins at sample t * hop - before; samples beyond the ends are 0 or mirrored."""

    window: Matrix  # factor for each sample of a frame
    hop: int
    before: int = 0
    span: int = 0  # samples that the first frame needs to count
    mirrored: int = 0  # samples mirrored at both ends, instead of zeros

    def count(self, samples: int) -> int:
        return max(0, 1 + (samples - self.span) // self.hop)

    def least_samples(self, frames: int) -> int:
        return self.span + (frames - 1) * self.hop


@dataclass(frozen=True)
class Logarithm:
    """Computes factor * ln(max(x, least) + offset) + shift, at least the overall maximum minus `range`."""

    factor: float = 1.0
    offset: float = 0.0
    least: float = 0.0
    shift: float = 0.0
    range: float | None = None


@dataclass(frozen=True)
class ChannelGain:
    """Computes (times * x / (floor + smooth)^gain + bias)^power - bias^power; ln(1 + ...) for power 0.

    `smooth` starts at 1 and is updated with the share `share` of each frame's times * x.
    """

    times: float
    share: float
    floor: float
    gain: float
    bias: float
    power: float


@dataclass(frozen=True)
class Spectrum:
    """Features of 16-bit samples, which represent numbers from -1 to 1."""

    sample_rate: int  # Hz
    samples: int | None  # of the clip; None: as few as the model's frames need
    frames: Frames
    fft_length: int
    power: int  # 1 for magnitudes, 2 for energies
    by_largest: bool  # divide samples by the clip's largest one
    filters: Matrix | None = None  # [bins, channels]
    channel_gain: ChannelGain | None = None
    logarithm: Logarithm | None = None
    cosines: Matrix | None = None  # [channels, features]
    frames_last: bool = False  # the library's results are [features, frames]

    @property
    def is_fast(self) -> bool:
        """Returns whether the transform length is a power of two."""
        return self.fft_length & (self.fft_length - 1) == 0

    @property
    def bins(self) -> int:
        return self.fft_length // 2 + 1

    @property
    def features(self) -> int:
        last = self.cosines if self.cosines is not None else self.filters
        return self.bins if last is None else last.shape[1]


# Integer audio features from samples to logarithms, with noise reduction and gain control.


Integers = npt.NDArray[np.int64]
SHARE_BITS = 14  # fraction bits of shares
WINDOW_BITS = 12  # fraction bits of the window and the filters


@dataclass(frozen=True)
class NoiseReduction:
    """Noise of a channel: (2^up * level * new + noise * old) / 2^14. At least the share `least` is kept."""

    up: int
    new: tuple[int, int]  # of even channels, of odd channels; in units of 2^-14
    least: int  # in units of 2^-14


@dataclass(frozen=True)
class GainTable:
    """The gains by size of the noise, as in gain_control, and its shift."""

    gains: npt.NDArray[np.int16]
    shift: int


@dataclass(frozen=True)
class IntegerFeatures:
    """Features of 16-bit samples. The window and the filters are in units of 2^-12."""

    sample_rate: int  # Hz
    samples: int | None  # of the clip; None: as few as the model's frames need
    frames: Frames
    fft_length: int
    bins: tuple[int, int]  # first bin that a filter reads, and the end (exclusive)
    filters: Integers  # [channels, bins]
    noise: NoiseReduction
    gain: GainTable | None
    log_up: int | None  # left shift of a level before its logarithm; None: no logarithm
    log_scale: int
    times: float  # factor of the final features
    continuous: bool = False  # each run continues the sound of the previous one
    frames_last: bool = False

    @property
    def features(self) -> int:
        return len(self.filters)


# Mel filters and cosine transforms, as defined by each library.


_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0  # the Slaney scale is linear below and logarithmic above
_LOG_STEP = np.log(6.4) / 27.0


def hann(length: int, is_periodic: bool) -> Matrix:
    """Returns a raised cosine that begins with 0; if periodic, the next 0 would follow its end."""
    turns = length if is_periodic else max(length - 1, 1)
    return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / turns))


def hz_to_mel(hz: Matrix, is_slaney: bool = False) -> Matrix:
    if not is_slaney:
        return np.asarray(2595.0 * np.log10(1.0 + hz / 700.0))
    above = _BREAK_MEL + np.log(np.maximum(hz, _BREAK_HZ) / _BREAK_HZ) / _LOG_STEP
    return np.where(hz < _BREAK_HZ, hz * _BREAK_MEL / _BREAK_HZ, above)


def mel_to_hz(mel: Matrix, is_slaney: bool = False) -> Matrix:
    if not is_slaney:
        return np.asarray(700.0 * (10.0 ** (mel / 2595.0) - 1.0))
    above = _BREAK_HZ * np.exp(_LOG_STEP * (np.maximum(mel, _BREAK_MEL) - _BREAK_MEL))
    return np.where(mel < _BREAK_MEL, mel * _BREAK_HZ / _BREAK_MEL, above)


def triangles(places: Matrix, edges: Matrix) -> Matrix:
    """Returns [places, channels]: channel c rises from edge c to edge c + 1 and falls to edge c + 2."""
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising = (places[:, None] - low) / (middle - low)
    falling = (high - places[:, None]) / (high - middle)
    return np.asarray(np.maximum(0.0, np.minimum(rising, falling)))


def filters_in_hz(
    bins: int,
    sample_rate: int,
    channels: int,
    low_hz: float,
    high_hz: float,
    is_slaney: bool,
    is_normed: bool,
) -> Matrix:
    """Returns triangles in hertz; if normed, all have the same area."""
    ends = hz_to_mel(np.array([low_hz, high_hz]), is_slaney)
    edges = mel_to_hz(np.linspace(ends[0], ends[1], channels + 2), is_slaney)
    made = triangles(np.linspace(0.0, sample_rate / 2, bins), edges)
    return made * (2.0 / (edges[2:] - edges[:-2])) if is_normed else made


def filters_in_mel(bins: int, sample_rate: int, channels: int, low_hz: float, high_hz: float) -> Matrix:
    """Returns triangles in mel; the constant component has weight 0."""
    ends = hz_to_mel(np.array([low_hz, high_hz]))
    places = hz_to_mel(np.linspace(0.0, sample_rate / 2, bins))
    made = triangles(places, np.linspace(ends[0], ends[1], channels + 2))
    made[0] = 0.0
    return made


def cosines(channels: int, features: int, is_orthonormal: bool) -> Matrix:
    """Returns the DCT-II [channels, features]; if orthonormal, the first feature is scaled down."""
    places, numbers = np.arange(channels)[:, None] + 0.5, np.arange(features)
    made = np.cos(np.pi / channels * places * numbers) * np.sqrt(2.0 / channels)
    if is_orthonormal:
        made[:, 0] *= np.sqrt(0.5)
    return np.asarray(made)
