"""Filters and features of movement, with the names of scipy.signal, scipy.stats and numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aot.frontend.declared import DeclarationError
from aot.fronts.libraries.checks import require_at_most, require_fft_length, require_positive
from aot.fronts.movement import Moment, Movement, PowerSpectrum
from aot.fronts.spectrum import Matrix, hann

Complex = npt.NDArray[np.complex128]
TYPES = ("lowpass", "highpass", "bandpass")
_LEAST_IMAGINARY = 1e-12  # of a complex pole


def butterworth(order: int, edges_hz: Sequence[float], kind: str, rate_hz: float) -> Matrix:
    """Returns [S, 5]: b0, b1, b2, a1, a2, like SciPy's. A band filter has twice the order, and two edges."""
    warped = 2 * np.tan(np.pi * np.asarray(edges_hz) / rate_hz)
    angles = np.pi * (2 * np.arange(order) + 1) / (2 * order)
    unit = 1j * np.exp(1j * angles)
    if kind == "lowpass":
        poles, zeros = warped[0] * unit, -np.ones(order)
    elif kind == "highpass":
        poles, zeros = warped[0] / unit, np.ones(order)
    else:
        half, centre = unit * (warped[1] - warped[0]) / 2, warped[0] * warped[1]
        root = np.sqrt(half * half - centre)
        poles = np.concatenate([half + root, half - root])
        zeros = np.tile([1.0, -1.0], order)
    return _sections((2 + poles) / (2 - poles), zeros, _passed(kind, edges_hz, rate_hz))


def _passed(kind: str, edges_hz: Sequence[float], rate_hz: float) -> complex:
    """Returns the point of the unit circle at which the filter has gain 1."""
    if kind == "bandpass":
        low, high = np.tan(np.pi * np.asarray(edges_hz) / rate_hz)
        return complex(np.exp(2j * np.arctan(np.sqrt(low * high))))
    return 1.0 if kind == "lowpass" else -1.0


def _sections(poles: Complex, zeros: Matrix, passed: complex) -> Matrix:
    """Pairs poles, those near the unit circle last, each with two zeros; each section has gain 1."""
    upper = poles[poles.imag > _LEAST_IMAGINARY]
    real = np.sort(poles[np.abs(poles.imag) <= _LEAST_IMAGINARY].real)
    pairs = [(p, p.conjugate()) for p in sorted(upper, key=abs)]
    pairs = [*zip(real[: len(real) // 2 * 2 : 2], real[1::2], strict=True), *pairs]
    rows, left = [], list(zeros)
    if len(real) % 2:
        rows.append(_section([real[-1]], [left.pop()], passed))
    rows += [_section(pair, [left.pop(), left.pop()], passed) for pair in pairs]
    return np.array(rows)


def _section(poles: Sequence[complex], zeros: Sequence[float], passed: complex) -> list[float]:
    below = np.append(np.real(np.poly(poles)), np.zeros(2 - len(poles)))
    above = np.append(np.poly(zeros), np.zeros(2 - len(zeros)))
    at = passed ** -np.arange(3.0)
    gain = abs(np.sum(below * at)) / abs(np.sum(above * at))
    return [*(gain * above), *below[1:]]


_MOST_ORDER = 12
_IN_SECTION = 6  # numbers in scipy's order: b0, b1, b2, a0, a1, a2
_MOST_SECTIONS = 16
_MOST_TAPS = 255
_WINDOWS = ("boxcar", "hann")
_SCALINGS = ("density", "spectrum", None)
_WELCH = "welch"


@dataclass(frozen=True, kw_only=True)
class ScipyFilter:
    """Equals sosfilt(butter(N, Wn, btype, fs=..., output="sos"), scale * x, axis=0), or lfilter(b, a)."""

    sample_rate: float
    axes: int
    samples: int | None = None  # rows of a window
    int16: float | None = None  # value of one unit of the sensor's 16-bit integers; None: floats
    scale: float = 1.0
    N: int | None = None
    Wn: tuple[float, ...] = ()
    btype: str = "lowpass"
    sos: tuple[float, ...] = ()
    b: tuple[float, ...] = ()
    a: tuple[float, ...] = (1.0,)
    detrend: str | None = None  # "constant" subtracts the window's mean

    def front(self) -> Movement:
        require_positive(sample_rate=self.sample_rate, axes=self.axes, samples=self.samples, int16=self.int16)
        if self.detrend not in (None, "constant"):
            raise DeclarationError(f"detrend must be constant or none, not {self.detrend}")
        sections, taps = self._filter()
        return Movement(
            sample_rate=self.sample_rate,
            samples=self.samples,
            axes=self.axes,
            steps=self.int16,
            scale=self.scale,
            sections=sections,
            taps=taps,
            without_mean=self.detrend == "constant",
            moments=(),
            spectrum=None,
        )

    def _filter(self) -> tuple[Matrix | None, Matrix | None]:
        """Returns sections, or taps. Raises DeclarationError."""
        said = [name for name in ("N", "sos", "b") if getattr(self, name)]
        if len(said) > 1:
            raise DeclarationError(f"{' and '.join(said)} are given: choose one way to define the filter")
        if self.N:
            return self._butterworth(self.N), None
        if self.sos:
            return _read_sections(self.sos), None
        return _read_fraction(self.b, self.a) if self.b else (None, None)

    def _butterworth(self, order: int) -> Matrix:
        if self.btype not in TYPES:
            raise DeclarationError(f"btype must be one of {', '.join(TYPES)}, not {self.btype}")
        edges = self.Wn
        if len(edges) != (2 if self.btype == "bandpass" else 1):
            raise DeclarationError(
                f"Wn has {len(edges)} frequencies for {self.btype}", "write Wn=3, or Wn=1/20 for a band"
            )
        if not 1 <= order <= _MOST_ORDER:
            raise DeclarationError(f"N must be 1 to {_MOST_ORDER}, not {order}")
        if not 0 < edges[0] <= edges[-1] < self.sample_rate / 2 or (len(edges) == 2 and edges[0] == edges[1]):
            raise DeclarationError(
                f"Wn is {'/'.join(f'{edge:g}' for edge in edges)} Hz, it must rise and stay between 0 and "
                f"{self.sample_rate / 2:g} Hz, half of sample_rate"
            )
        return butterworth(order, edges, self.btype, self.sample_rate)


@dataclass(frozen=True, kw_only=True)
class ScipyFeatures(ScipyFilter):
    """Moments of each axis of the filtered window (numpy, scipy.stats), and welch's power spectrum."""

    features: str = "rms/skew/kurtosis/welch"
    nperseg: int = 16
    noverlap: int | None = None  # None: half of nperseg
    window: str = "hann"
    welch_detrend: str | None = "constant"
    scaling: str | None = "density"  # None: energies / nperseg
    average: str = "mean"  # "max": the largest of all segments
    log10: bool = False  # of at least 1e-10

    def front(self) -> Movement:
        made = ScipyFilter.front(self)
        words = self.features.split("/")
        known = [each.value for each in Moment]
        wrong = next((word for word in words if word not in (*known, _WELCH)), None)
        if wrong is not None or len(set(words)) < len(words) or _WELCH in words[:-1]:
            raise DeclarationError(
                f"features must be a list of {', '.join(known)} without repeats, "
                f'with {_WELCH} last, not "{self.features}"',
                "features=rms/skew/kurtosis/welch",
            )
        moments = tuple(Moment(word) for word in words if word != _WELCH)
        spectrum = self._spectrum() if _WELCH in words else None
        return replace(made, moments=moments, spectrum=spectrum)

    def _spectrum(self) -> PowerSpectrum:
        require_fft_length(self.nperseg, "nperseg")
        require_at_most("nperseg", self.nperseg, self.samples or self.nperseg, "samples")
        overlap = self.nperseg // 2 if self.noverlap is None else self.noverlap
        require_at_most("noverlap", overlap, self.nperseg - 1, "nperseg - 1")
        for name, word, words in (
            ("window", self.window, _WINDOWS),
            ("scaling", self.scaling, _SCALINGS),
            ("average", self.average, ("mean", "max")),
            ("welch_detrend", self.welch_detrend, ("constant", None)),
        ):
            if word not in words:
                raise DeclarationError(f"{name} must be {_listed(words)}, not {word or 'none'}")
        window = hann(self.nperseg, is_periodic=True) if self.window == "hann" else np.ones(self.nperseg)
        return PowerSpectrum(
            window=window,
            step=self.nperseg - overlap,
            factors=self._factors(window),
            without_mean=self.welch_detrend == "constant",
            keeps_largest=self.average == "max",
            least=1e-10 if self.log10 else None,
        )

    def _factors(self, window: Matrix) -> Matrix:
        """Returns the factor of each bin. Inner bins count twice; without scaling, divides by nperseg."""
        if self.scaling is None:
            return np.full(self.nperseg // 2 + 1, 1 / self.nperseg)
        by_density = 1 / (self.sample_rate * np.sum(window * window))
        factor = by_density if self.scaling == "density" else 1 / np.sum(window) ** 2
        factors = np.full(self.nperseg // 2 + 1, 2 * factor)
        factors[[0, -1]] = factor
        return factors


def _listed(words: Sequence[str | None]) -> str:
    return " or ".join(word or "none" for word in words)


def _read_sections(sos: tuple[float, ...]) -> Matrix:
    if len(sos) % _IN_SECTION or not 1 <= len(sos) // _IN_SECTION <= _MOST_SECTIONS:
        raise DeclarationError(
            f"sos has {len(sos)} numbers, a section has {_IN_SECTION}, and there are 1 to {_MOST_SECTIONS}"
        )
    rows = np.array(sos).reshape(-1, _IN_SECTION)
    if not (rows[:, 3] == 1).all():
        raise DeclarationError("sos has a section whose a0 is not 1")
    return np.delete(rows, 3, axis=1)


def _read_fraction(b: tuple[float, ...], a: tuple[float, ...]) -> tuple[Matrix | None, Matrix | None]:
    if a[0] == 0:
        raise DeclarationError("the first number of a must not be 0")
    if len(a) == 1:
        require_at_most("the number of b", len(b), _MOST_TAPS, "the largest")
        return None, np.array(b) / a[0]
    if len(a) > 3 or len(b) > 3:
        raise DeclarationError(
            f"a and b have {len(a)} and {len(b)} numbers, a filter with poles is given by 3 at most",
            "convert it to sections: sos=scipy.signal.tf2sos(b, a)",
        )
    above, below = (np.append(np.array(part) / a[0], np.zeros(3 - len(part))) for part in (b, a))
    return np.array([[*above, *below[1:]]]), None
