"""Movements with the calls of scipy and numpy that each front end is to equal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

RATE, ROWS, AXES = 62.5, 125, 3
Numbers = npt.NDArray[np.float64]


def movement() -> npt.NDArray[np.float32]:
    """A slow axis with noise, a fast one with overtones, and one that is held against gravity."""
    t, rng = np.arange(ROWS) / RATE, np.random.default_rng(1)
    noise = rng.standard_normal((ROWS, 2))
    slow = np.sin(2 * np.pi * 3 * t) + 0.3 * noise[:, 0]
    fast = np.cos(2 * np.pi * 7 * t) ** 3
    return np.stack([slow, fast, 9.81 + 0.2 * noise[:, 1]], axis=1).astype(np.float32)


@dataclass(frozen=True)
class MovementCase:
    """A front end, and its features of a movement by the library: [rows, axes] or [axes, features]."""

    name: str
    declared: str
    compute: Callable[[Numbers], Any]


def said(numbers: Any) -> str:
    return "/".join(repr(float(number)) for number in np.ravel(numbers))


def butter(order: int, edges: Any, kind: str) -> Any:
    from scipy.signal import butter

    return butter(order, edges, kind, fs=RATE, output="sos")


def sosfilt(sections: Any) -> Callable[[Numbers], Any]:
    def compute(x: Numbers) -> Any:
        from scipy.signal import sosfilt

        return sosfilt(sections() if callable(sections) else sections, x, axis=0)

    return compute


def lfilter(b: Any, a: Any) -> Callable[[Numbers], Any]:
    def compute(x: Numbers) -> Any:
        from scipy.signal import lfilter

        return lfilter(b, a, x, axis=0)

    return compute


def moments(x: Numbers) -> list[Any]:
    from scipy import stats

    rms = np.sqrt((x**2).mean(0))
    return [x.mean(0), x.std(0), rms, stats.skew(x), stats.kurtosis(x), x.min(0), x.max(0), np.ptp(x, axis=0)]


def features(x: Numbers, **words: Any) -> Any:
    """Features of the movement without what is slower than 1 Hz and without its mean."""
    from scipy.signal import welch

    y = sosfilt(butter(2, 1, "highpass"))(x)
    y = y - y.mean(0)
    return np.concatenate([np.array(moments(y)), welch(y, RATE, axis=0, **words)[1]]).T


def largest_power(x: Numbers) -> Any:
    """The logarithm of the largest power of each bin in parts of 32 that overlap by half."""
    parts = np.stack([x[start : start + 32] for start in range(0, ROWS - 31, 16)])
    power = np.abs(np.fft.rfft(parts, axis=1)) ** 2 / 32
    return np.log10(np.maximum(power.max(0), 1e-10)).T


_START = f"sample_rate={RATE},axes={AXES}"
_ALL = "mean/std/rms/skew/kurtosis/min/max/ptp/welch"
_WINDOW = f"{_START},samples={ROWS}"
_HIGH = "N=2,Wn=1,btype=highpass,detrend=constant"
_FIR = np.array([0.05, 0.12, 0.2, 0.26, 0.2, 0.12, 0.05])
_SECTIONS = np.array([[0.2, 0.4, 0.2, 1.0, -0.3, 0.1], [0.8, -1.6, 0.8, 1.0, -1.5, 0.6]])
MOVEMENTS = (
    MovementCase("lowpass", f"scipy.filter:{_START},N=5,Wn=3", sosfilt(lambda: butter(5, 3, "lowpass"))),
    MovementCase(
        "highpass",
        f"scipy.filter:{_START},N=4,Wn=1,btype=highpass",
        sosfilt(lambda: butter(4, 1, "highpass")),
    ),
    MovementCase(
        "bandpass",
        f"scipy.filter:{_START},N=3,Wn=1/20,btype=bandpass",
        sosfilt(lambda: butter(3, (1, 20), "bandpass")),
    ),
    MovementCase("sections", f"scipy.filter:{_START},sos={said(_SECTIONS)}", sosfilt(_SECTIONS)),
    MovementCase("taps", f"scipy.filter:{_START},b={said(_FIR)}", lfilter(_FIR, [1])),
    MovementCase(
        "one section",
        f"scipy.filter:{_START},b=0.2/0.3,a=2/-0.5/0.25",
        lfilter([0.2, 0.3], [2, -0.5, 0.25]),
    ),
    MovementCase("scaled", f"scipy.filter:{_START},scale=0.25", lambda x: x / 4),
    MovementCase(
        "features",
        f"scipy.features:{_WINDOW},{_HIGH},features={_ALL},nperseg=32",
        lambda x: features(x, nperseg=32),
    ),
    MovementCase(
        "parts of any length",
        f"scipy.features:{_WINDOW},{_HIGH},features={_ALL},nperseg=50,noverlap=10,window=boxcar,scaling=spectrum",
        lambda x: features(x, nperseg=50, noverlap=10, window="boxcar", scaling="spectrum"),
    ),
    MovementCase(
        "largest power",
        f"scipy.features:{_WINDOW},features=welch,nperseg=32,window=boxcar,welch_detrend=none,"
        "scaling=none,average=max,log10=true",
        largest_power,
    ),
)
