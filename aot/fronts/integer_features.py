"""Features of audio in integers from samples to logarithms: noise taken away, and gain controlled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.fronts.spectrum import Frames

Integers = npt.NDArray[np.int64]
SHARE_BITS = 14  # behind the point of shares
WINDOW_BITS = 12  # behind the point of the window and of the filters


@dataclass(frozen=True)
class NoiseReduction:
    """A channel's noise is what stays: (2^up * level * new + noise * old) / 2^14. `least` of it is left."""

    up: int
    new: tuple[int, int]  # of even channels, of odd ones; 2^14 is all of it
    least: int  # of 2^14


@dataclass(frozen=True)
class GainTable:
    """The gains of sizes of noise, as gain_control has them, and its shift."""

    gains: npt.NDArray[np.int16]
    shift: int


@dataclass(frozen=True)
class IntegerFeatures:
    """Features of 16-bit samples. The window is in steps of 2^-12, and so are filters."""

    sample_rate: int  # Hz
    samples: int | None  # of the clip; None: as few as make the model's frames
    frames: Frames
    fft_length: int
    bins: tuple[int, int]  # the first that a filter reads, and the one behind the last
    filters: Integers  # [channels, bins]
    noise: NoiseReduction
    gain: GainTable | None
    log_up: int | None  # bits by which a level is shifted before its logarithm; None: no logarithm
    log_scale: int
    times: float  # what features are multiplied by in the end
    continuous: bool = False  # a run goes on with the sound of the one before
    frames_last: bool = False

    @property
    def features(self) -> int:
        return len(self.filters)
