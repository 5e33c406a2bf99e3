"""Features of librosa: feature.melspectrogram, power_to_db and pcen of it, feature.mfcc."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from aot.frontend.declared import DeclarationError
from aot.fronts.libraries.checks import (
    centred_frames,
    is_divided_by_largest,
    read_power,
    require_at_most,
    require_band,
    require_fft_length,
    require_hann,
    require_positive,
)
from aot.fronts.spectrum import ChannelGain, Logarithm, Spectrum, cosines, filters_in_hz

DECIBEL = 10.0 / math.log(10.0)


@dataclass(frozen=True, kw_only=True)
class LibrosaMel:
    """Equals librosa.feature.melspectrogram."""

    sr: int = 22050
    n_fft: int = 2048
    hop_length: int = 512
    win_length: int | None = None  # None: n_fft
    window: str = "hann"
    center: bool = True
    pad_mode: str = "constant"
    power: float = 2.0
    n_mels: int = 128
    fmin: float = 0.0
    fmax: float | None = None  # None: half of sr
    htk: bool = False
    norm: str | None = "slaney"
    samples: int | None = None
    divide_by: str = "32768"

    def front(self) -> Spectrum:
        win_length, fmax = self.win_length or self.n_fft, self.fmax or self.sr / 2
        require_positive(sr=self.sr, hop_length=self.hop_length, win_length=win_length, n_mels=self.n_mels)
        require_hann("window", self.window)
        require_fft_length(self.n_fft, "n_fft")
        require_band(self.fmin, fmax, self.sr, ("fmin", "fmax"))
        if self.norm not in ("slaney", None):
            raise DeclarationError(f"norm must be slaney or none, not {self.norm}")
        bins = self.n_fft // 2 + 1
        return Spectrum(
            sample_rate=self.sr,
            samples=self.samples,
            frames=centred_frames(win_length, self.hop_length, self.n_fft, self.center, self.pad_mode),
            fft_length=self.n_fft,
            power=read_power(self.power),
            by_largest=is_divided_by_largest(self.divide_by),
            filters=filters_in_hz(
                bins, self.sr, self.n_mels, self.fmin, fmax, not self.htk, self.norm is not None
            ),
            frames_last=True,
        )


@dataclass(frozen=True, kw_only=True)
class LibrosaDecibels(LibrosaMel):
    """Equals librosa.power_to_db of feature.melspectrogram."""

    ref: float = 1.0
    amin: float = 1e-10
    top_db: float | None = 80.0

    def front(self) -> Spectrum:
        require_positive(ref=self.ref, amin=self.amin, top_db=self.top_db)
        return replace(LibrosaMel.front(self), logarithm=decibels(self.ref, self.amin, self.top_db))


@dataclass(frozen=True, kw_only=True)
class LibrosaPcen(LibrosaMel):
    """Equals librosa.pcen of `times` feature.melspectrogram; pcen_power is pcen's argument power."""

    times: float = 1.0
    gain: float = 0.98
    bias: float = 2.0
    pcen_power: float = 0.5
    time_constant: float = 0.4
    eps: float = 1e-6
    b: float | None = None

    def front(self) -> Spectrum:
        require_positive(times=self.times, time_constant=self.time_constant, eps=self.eps, b=self.b)
        if self.gain < 0 or self.pcen_power < 0 or self.bias <= 0:
            raise DeclarationError(
                f"gain is {self.gain:g}, pcen_power is {self.pcen_power:g} and bias is {self.bias:g}: "
                "the first two must be 0 or more, bias more than 0"
            )
        if self.b is not None and self.b > 1:
            raise DeclarationError(f"b must be above 0 and at most 1, not {self.b:g}")
        words = ChannelGain(self.times, self._share(), self.eps, self.gain, self.bias, self.pcen_power)
        return replace(LibrosaMel.front(self), channel_gain=words)

    def _share(self) -> float:
        if self.b is not None:
            return self.b
        frames = self.time_constant * self.sr / self.hop_length
        return (math.sqrt(1 + 4 * frames**2) - 1) / (2 * frames**2)


@dataclass(frozen=True, kw_only=True)
class LibrosaMfcc(LibrosaDecibels):
    """Equals librosa.feature.mfcc, with its default cosine transform."""

    n_mfcc: int = 20

    def front(self) -> Spectrum:
        require_positive(n_mfcc=self.n_mfcc)
        require_at_most("n_mfcc", self.n_mfcc, self.n_mels, "n_mels")
        table = cosines(self.n_mels, self.n_mfcc, is_orthonormal=True)
        return replace(LibrosaDecibels.front(self), cosines=table)


def decibels(ref: float, amin: float, top_db: float | None) -> Logarithm:
    """Returns the logarithm of power_to_db: 10 log10 relative to `ref`."""
    return Logarithm(DECIBEL, least=amin, range=top_db, shift=-10.0 * math.log10(max(ref, amin)))
