"""Integer audio features from samples to logarithms, with noise reduction and gain control."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.fronts.spectrum import Frames

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
