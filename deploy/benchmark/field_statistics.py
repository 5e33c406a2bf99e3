"""The counters of a model with --observe, read from the 128 bytes that a board sends, and said in words."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aot.counted import counted
from aot.errors import InputError
from codegen.c.observe import (
    ENTROPY_STEPS,
    INTEGERS,
    MARGIN_BUCKETS,
    OBSERVED_BYTES,
    OBSERVED_FORMAT,
    REALS,
    SCORES,
)
from codegen.model import LayerInfo
from deploy.benchmark.meter import Meter

_HEAD = struct.Struct("<HBBIIIHHHHHHHH8IQQ")
_WINDOWS = {INTEGERS: struct.Struct("<3Q3i"), REALS: struct.Struct("<3f12x3f")}
_TIMES = struct.Struct("<III")
_WHOLE_SHARE = 65535
_SURE = MARGIN_BUCKETS // 4  # parts of a margin that is narrow: below a quarter


@dataclass(frozen=True, slots=True)
class InputWindow:
    """The elements of the input in a window of runs, as the model takes them."""

    mean: float
    deviation: float  # the root of the mean square distance from the mean


@dataclass(frozen=True, slots=True)
class Observed:
    """The counts of runs since the firmware started."""

    runs: int
    looked_at: int  # results of layers
    saturated: int  # of them
    worst_layer: int | None  # with the largest share of saturated results in a row; None: none was
    worst_share: float
    margins: tuple[int, ...]  # runs by best score less second best, in eighths; none of models without scores
    entropy_bits: float | None  # of a run's scores: the mean
    most_entropy_bits: float | None
    first_window: InputWindow | None  # of the input; None: none is complete
    last_window: InputWindow | None
    windows: int  # complete ones, at most 255
    timed_runs: int
    mean_ticks: float
    least_ticks: int
    most_ticks: int

    @property
    def drift(self) -> float | None:
        """The distance of the last window's mean from the first one's, in deviations of the first."""
        if self.first_window is None or self.last_window is None:
            return None
        apart = self.last_window.mean - self.first_window.mean
        if not self.first_window.deviation:
            return math.copysign(math.inf, apart) if apart else 0.0
        return apart / self.first_window.deviation

    @property
    def narrow(self) -> int:
        """The runs whose best class is less than a quarter ahead of the second best."""
        return sum(self.margins[:_SURE])

    def as_json(self) -> dict[str, Any]:
        windows = {"first": self.first_window, "last": self.last_window}
        return {
            "runs": self.runs,
            "looked_at": self.looked_at,
            "saturated": self.saturated,
            "worst_layer": self.worst_layer,
            "worst_share": self.worst_share,
            "margins": list(self.margins),
            "entropy_bits": self.entropy_bits,
            "most_entropy_bits": self.most_entropy_bits,
            "input": {
                name: {"mean": window.mean, "deviation": window.deviation} if window else None
                for name, window in windows.items()
            },
            "windows": self.windows,
            "timed_runs": self.timed_runs,
            "mean_ticks": self.mean_ticks,
            "least_ticks": self.least_ticks,
            "most_ticks": self.most_ticks,
        }


def read_observed(data: bytes) -> Observed:
    """The counters in the bytes that a board has sent. Raises InputError for those of another version."""
    found = _HEAD.unpack_from(data) if len(data) == OBSERVED_BYTES else (0,)
    if found[0] != OBSERVED_FORMAT:
        raise InputError(
            f"the board's counters are {len(data)} bytes of format {found[0]}, "
            f"this version reads {OBSERVED_BYTES} of format {OBSERVED_FORMAT}",
            hint="read them with the version of Solder that made the firmware",
        )
    _, kinds, windows, runs, looked_at, saturated, worst_layer, share, *rest = found
    _, _, most_entropy, samples, window_rows, _, *margins, entropy, ticks = rest
    has_scores = bool(kinds & SCORES)
    first, last = _windows(data, kinds, samples * window_rows) if windows else (None, None)
    timed, least, most = _TIMES.unpack_from(data, OBSERVED_BYTES - _TIMES.size)
    return Observed(
        runs=runs,
        looked_at=looked_at,
        saturated=saturated,
        worst_layer=worst_layer if share else None,
        worst_share=share / _WHOLE_SHARE,
        margins=tuple(margins) if has_scores else (),
        entropy_bits=entropy / ENTROPY_STEPS / max(1, runs) if has_scores else None,
        most_entropy_bits=most_entropy / ENTROPY_STEPS if has_scores else None,
        first_window=first,
        last_window=last,
        windows=windows,
        timed_runs=timed,
        mean_ticks=ticks / max(1, timed),
        least_ticks=least if timed else 0,
        most_ticks=most,
    )


def _windows(data: bytes, kinds: int, elements: int) -> tuple[InputWindow | None, InputWindow | None]:
    layout = _WINDOWS.get(kinds & ~SCORES)
    if layout is None or not elements:
        return None, None
    first_squares, last_squares, _, first, last, _ = layout.unpack_from(data, _HEAD.size)
    return _window(first, first_squares, elements), _window(last, last_squares, elements)


def _window(total: float, squares: float, elements: int) -> InputWindow:
    mean = total / elements
    return InputWindow(mean, math.sqrt(max(0.0, squares / elements - mean * mean)))


def observed_text(seen: Observed, meter: Meter, layers: Sequence[LayerInfo] = ()) -> str:
    """The counters in words; the times are those of a board's own counter."""
    return "\n".join(observed_lines(seen, _time_by(meter), layers))


def _time_by(meter: Meter) -> Callable[[float], str]:
    def said(ticks: float) -> str:
        whole = round(ticks)
        return (
            f"{meter.count(whole):,} {meter.unit}" if meter.unit else f"{meter.seconds(whole) * 1e3:,.4g} ms"
        )

    return said


def observed_lines(
    seen: Observed, time: Callable[[float], str], layers: Sequence[LayerInfo] = ()
) -> Iterator[str]:
    """The counters in words; `time` says ticks, `layers` are those of the model where they are known."""
    if not seen.runs:
        yield "observed: no run yet"
        return
    yield f"observed: {counted(seen.runs, 'run')}"
    if seen.looked_at:
        yield f"  saturated      {seen.saturated:,} of {seen.looked_at:,} results{_worst(seen, layers)}"
    if seen.entropy_bits is not None and seen.most_entropy_bits is not None:
        yield f"  best class     less than 1/4 ahead in {seen.narrow:,} of {sum(seen.margins):,} runs"
        yield f"  margins        {' '.join(map(str, seen.margins))}   (runs by eighths, from 0 to 1)"
        yield f"  entropy        {seen.entropy_bits:.2f} bits, {seen.most_entropy_bits:.2f} at most"
    if seen.first_window is not None and seen.last_window is not None:
        last, first = _describe(seen.last_window), _describe(seen.first_window)
        yield f"  input          {last}; in the first runs {first}"
        yield f"  drift          {seen.drift:+.2f} deviations"
    if seen.timed_runs:
        yield (
            f"  time of a run  {time(seen.mean_ticks)}, from {time(seen.least_ticks)} to "
            f"{time(seen.most_ticks)}"
        )


def _worst(seen: Observed, layers: Sequence[LayerInfo]) -> str:
    if seen.worst_layer is None:
        return ""
    name = f" ({layers[seen.worst_layer].name})" if seen.worst_layer < len(layers) else ""
    return f"; most in layer {seen.worst_layer}{name}, {100 * seen.worst_share:.1f} % of a row"


def _describe(window: InputWindow) -> str:
    return f"{window.mean:.4g} +- {window.deviation:.4g}"
