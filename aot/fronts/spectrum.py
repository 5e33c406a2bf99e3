"""Audio features, independent of any library: frames, window, spectrum, filters, logarithm, cosines."""

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
