"""Features of movement and vibration, independent of any library: filters, moments, spectra per axis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aot.fronts.spectrum import Matrix


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
