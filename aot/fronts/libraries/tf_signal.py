"""Features of tf.signal: stft, linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aot.fronts.libraries.checks import (
    is_divided_by_largest,
    read_power,
    require_at_most,
    require_band,
    require_fft_length,
    require_positive,
)
from aot.fronts.spectrum import Frames, Logarithm, Spectrum, cosines, filters_in_mel, hann


@dataclass(frozen=True, kw_only=True)
class TfSpectrogram:
    """Equals abs(tf.signal.stft(x, frame_length, frame_step, fft_length)) ** power."""

    sample_rate: int
    frame_length: int
    frame_step: int
    fft_length: int | None = None  # None: the next power of 2
    power: int = 1
    samples: int | None = None
    divide_by: str = "32768"

    def front(self) -> Spectrum:
        require_positive(
            sample_rate=self.sample_rate, frame_length=self.frame_length, frame_step=self.frame_step
        )
        fft_length = self.fft_length or 1 << (self.frame_length - 1).bit_length()
        require_fft_length(fft_length, "fft_length")
        require_at_most("frame_length", self.frame_length, fft_length, "fft_length")
        # TensorFlow's periodic windows of odd length are not periodic.
        window = hann(self.frame_length, is_periodic=self.frame_length % 2 == 0)
        return Spectrum(
            sample_rate=self.sample_rate,
            samples=self.samples,
            frames=Frames(window, self.frame_step, span=self.frame_length),
            fft_length=fft_length,
            power=read_power(self.power),
            by_largest=is_divided_by_largest(self.divide_by),
        )


@dataclass(frozen=True, kw_only=True)
class TfLogMel(TfSpectrogram):
    """Equals log(spectrogram @ linear_to_mel_weight_matrix(...) + log_offset)."""

    num_mel_bins: int = 20
    lower_edge_hertz: float = 125.0
    upper_edge_hertz: float = 3800.0
    log_offset: float = 1e-6

    def front(self) -> Spectrum:
        require_positive(num_mel_bins=self.num_mel_bins, log_offset=self.log_offset)
        names = "lower_edge_hertz", "upper_edge_hertz"
        require_band(self.lower_edge_hertz, self.upper_edge_hertz, self.sample_rate, names)
        found = TfSpectrogram.front(self)
        filters = filters_in_mel(
            found.bins, self.sample_rate, self.num_mel_bins, self.lower_edge_hertz, self.upper_edge_hertz
        )
        return replace(found, filters=filters, logarithm=Logarithm(offset=self.log_offset))


@dataclass(frozen=True, kw_only=True)
class TfMfcc(TfLogMel):
    """Equals mfccs_from_log_mel_spectrograms(log_mel)[..., :num_mfccs]."""

    num_mfccs: int = 13

    def front(self) -> Spectrum:
        require_positive(num_mfccs=self.num_mfccs)
        require_at_most("num_mfccs", self.num_mfccs, self.num_mel_bins, "num_mel_bins")
        table = cosines(self.num_mel_bins, self.num_mfccs, is_orthonormal=False)
        return replace(TfLogMel.front(self), cosines=table)
