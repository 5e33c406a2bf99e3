"""Features of audio in the words of no library: frames, window, spectrum, filters, logarithm, cosines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Frames:
    """Frame t begins with sample t * hop - before; beyond both ends samples are 0, or mirrored."""

    window: Matrix  # a factor for each sample of a frame
    hop: int
    before: int = 0
    span: int = 0  # samples that the first frame needs to count as one
    mirrored: int = 0  # samples that are mirrored at both ends, in place of zeros

    def count(self, samples: int) -> int:
        return max(0, 1 + (samples - self.span) // self.hop)

    def least_samples(self, frames: int) -> int:
        return self.span + (frames - 1) * self.hop


@dataclass(frozen=True)
class Logarithm:
    """factor * ln(max(x, least) + offset) + shift, at least the largest of all less `range`."""

    factor: float = 1.0
    offset: float = 0.0
    least: float = 0.0
    shift: float = 0.0
    range: float | None = None


@dataclass(frozen=True)
class ChannelGain:
    """(times * x / (floor + smooth)^gain + bias)^power - bias^power, or ln(1 + ...) where power is 0.

    What is smooth begins with 1, and takes `share` of each frame's times * x.
    """

    times: float
    share: float
    floor: float
    gain: float
    bias: float
    power: float


@dataclass(frozen=True)
class Spectrum:
    """Features of 16-bit samples, which count as numbers from -1 to 1."""

    sample_rate: int  # Hz
    samples: int | None  # of the clip; None: as few as make the model's frames
    frames: Frames
    fft_length: int
    power: int  # 1 for magnitudes, 2 for energies
    by_largest: bool  # samples are divided by the largest of the clip
    filters: Matrix | None = None  # [bins, channels]
    channel_gain: ChannelGain | None = None
    logarithm: Logarithm | None = None
    cosines: Matrix | None = None  # [channels, features]
    frames_last: bool = False  # the library's results are [features, frames]

    @property
    def is_fast(self) -> bool:
        """True where the transform has a power of two of samples."""
        return self.fft_length & (self.fft_length - 1) == 0

    @property
    def bins(self) -> int:
        return self.fft_length // 2 + 1

    @property
    def features(self) -> int:
        last = self.cosines if self.cosines is not None else self.filters
        return self.bins if last is None else last.shape[1]
