"""Transforms of torchaudio: Spectrogram, MelSpectrogram, AmplitudeToDB of it, MFCC."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aot.frontend.declared import DeclarationError
from aot.fronts.libraries.checks import (
    centred_frames,
    is_divided_by_largest,
    read_power,
    require_at_most,
    require_band,
    require_fft_length,
    require_positive,
)
from aot.fronts.libraries.librosa import decibels
from aot.fronts.spectrum import Logarithm, Spectrum, cosines, filters_in_hz


@dataclass(frozen=True, kw_only=True)
class TorchSpectrogram:
    """Equals torchaudio.transforms.Spectrogram."""

    sample_rate: int = 16000
    n_fft: int = 400
    win_length: int | None = None  # None: n_fft
    hop_length: int | None = None  # None: half of win_length
    center: bool = True
    pad_mode: str = "reflect"
    power: float = 2.0
    samples: int | None = None
    divide_by: str = "32768"

    def front(self) -> Spectrum:
        win_length = self.win_length or self.n_fft
        hop_length = self.hop_length or win_length // 2
        require_positive(sample_rate=self.sample_rate, win_length=win_length, hop_length=hop_length)
        require_fft_length(self.n_fft, "n_fft")
        return Spectrum(
            sample_rate=self.sample_rate,
            samples=self.samples,
            frames=centred_frames(win_length, hop_length, self.n_fft, self.center, self.pad_mode),
            fft_length=self.n_fft,
            power=read_power(self.power),
            by_largest=is_divided_by_largest(self.divide_by),
            frames_last=True,
        )


@dataclass(frozen=True, kw_only=True)
class TorchMel(TorchSpectrogram):
    """Equals torchaudio.transforms.MelSpectrogram."""

    n_mels: int = 128
    f_min: float = 0.0
    f_max: float | None = None  # None: half of sample_rate
    mel_scale: str = "htk"
    norm: str | None = None

    def front(self) -> Spectrum:
        f_max = self.f_max or self.sample_rate / 2
        require_positive(n_mels=self.n_mels)
        require_band(self.f_min, f_max, self.sample_rate, ("f_min", "f_max"))
        if self.mel_scale not in ("htk", "slaney"):
            raise DeclarationError(f"mel_scale must be htk or slaney, not {self.mel_scale}")
        if self.norm not in ("slaney", None):
            raise DeclarationError(f"norm must be slaney or none, not {self.norm}")
        found = TorchSpectrogram.front(self)
        is_slaney, is_normed = self.mel_scale == "slaney", self.norm is not None
        filters = filters_in_hz(
            found.bins, self.sample_rate, self.n_mels, self.f_min, f_max, is_slaney, is_normed
        )
        return replace(found, filters=filters)


@dataclass(frozen=True, kw_only=True)
class TorchDecibels(TorchMel):
    """Equals torchaudio.transforms.AmplitudeToDB of MelSpectrogram."""

    top_db: float | None = None

    def front(self) -> Spectrum:
        require_positive(top_db=self.top_db)
        return replace(TorchMel.front(self), logarithm=decibels(1.0, 1e-10, self.top_db))


@dataclass(frozen=True, kw_only=True)
class TorchMfcc(TorchMel):
    """Equals torchaudio.transforms.MFCC; its decibels are limited to 80 below the largest."""

    n_mfcc: int = 40
    log_mels: bool = False

    def front(self) -> Spectrum:
        require_positive(n_mfcc=self.n_mfcc)
        require_at_most("n_mfcc", self.n_mfcc, self.n_mels, "n_mels")
        logarithm = Logarithm(offset=1e-6) if self.log_mels else decibels(1.0, 1e-10, 80.0)
        table = cosines(self.n_mels, self.n_mfcc, is_orthonormal=True)
        return replace(TorchMel.front(self), logarithm=logarithm, cosines=table)
