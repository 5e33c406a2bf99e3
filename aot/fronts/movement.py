"""Features of movement and vibration in the words of no library: filters, moments, spectra, axis by axis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aot.fronts.spectrum import Matrix


class Moment(Enum):
    """One number of an axis in a window; the value is its name in declarations."""

    MEAN = "mean"
    STD = "std"
    RMS = "rms"
    SKEW = "skew"
    KURTOSIS = "kurtosis"
    MIN = "min"
    MAX = "max"
    PTP = "ptp"  # the largest less the smallest


@dataclass(frozen=True)
class PowerSpectrum:
    """Energies of parts of the window, gathered: of each bin the mean, or the largest."""

    window: Matrix  # a factor for each sample of a part
    step: int  # from part to part
    factors: Matrix  # of each bin's energy
    without_mean: bool  # each part's mean is taken off
    keeps_largest: bool
    least: float | None  # log10 of what is at least this; None: no logarithm

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
    """Rows of numbers, one for each axis. Without moments and spectrum the rows are the features."""

    sample_rate: float  # rows a second
    samples: int | None  # rows of a window; None: as many as the model takes
    axes: int
    steps: float | None  # that the sensor's integers of 16 bits mean; None: it gives floats
    scale: float
    sections: Matrix | None  # [S, 5]: b0, b1, b2, a1, a2
    taps: Matrix | None  # of a filter without poles
    without_mean: bool
    moments: tuple[Moment, ...]
    spectrum: PowerSpectrum | None

    @property
    def is_filter(self) -> bool:
        """True where rows come out as they go in."""
        return not self.moments and self.spectrum is None

    @property
    def features(self) -> int:
        """Counts those of an axis."""
        return len(self.moments) + (self.spectrum.bins if self.spectrum is not None else 0)
