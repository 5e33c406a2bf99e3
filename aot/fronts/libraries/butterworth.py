"""Butterworth filters as second-order sections: scipy.signal.butter(..., output="sos")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aot.fronts.spectrum import Matrix

Complex = npt.NDArray[np.complex128]
TYPES = ("lowpass", "highpass", "bandpass")
_LEAST_IMAGINARY = 1e-12  # of a complex pole


def butterworth(order: int, edges_hz: Sequence[float], kind: str, rate_hz: float) -> Matrix:
    """Returns [S, 5]: b0, b1, b2, a1, a2. A band filter has twice the order, and two edges."""
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
