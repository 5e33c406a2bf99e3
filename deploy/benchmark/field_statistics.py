"""Decodes and describes the 128 bytes of counters from a model with --observe."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aot.errors import InputError
from aot.wording import counted
from codegen.c.observe import (
    ENTROPY_STEPS,
    FLOATS,
    INTEGERS,
    MARGIN_BUCKETS,
    OBSERVED_BYTES,
    OBSERVED_FORMAT,
    SCORES,
)
from codegen.model import LayerInfo
from deploy.benchmark.meter import Meter

_HEAD = struct.Struct("<HBBIIIHHHHHHHH8IQQ")
_WINDOWS = {INTEGERS: struct.Struct("<3Q3i"), FLOATS: struct.Struct("<3f12x3f")}
_TIMES = struct.Struct("<III")
_WHOLE_SHARE = 65535
_SURE = MARGIN_BUCKETS // 4  # a lead below a quarter is narrow


@dataclass(frozen=True, slots=True)
class InputWindow:
    """The input's elements in a window of runs, in the model's format."""

    mean: float
    deviation: float  # standard deviation


@dataclass(frozen=True, slots=True)
class Observed:
    """Statistics of all runs since the firmware started."""

    runs: int
    looked_at: int  # layer results examined
    saturated: int  # number of them
    worst_layer: int | None  # the layer with the largest fraction of saturated results in a row, or None
    worst_share: float
    margins: tuple[int, ...]  # runs by lead of the best over the second-best score, in eighths; or empty
    entropy_bits: float | None  # mean over runs of the scores' entropy
    most_entropy_bits: float | None
    first_window: InputWindow | None  # of the input; None: no complete window
    last_window: InputWindow | None
    windows: int  # complete ones, at most 255
    timed_runs: int
    mean_ticks: float
    least_ticks: int
    most_ticks: int

    @property
    def drift(self) -> float | None:
        """The distance between the last and the first window's mean, in standard deviations of the first."""
        if self.first_window is None or self.last_window is None:
            return None
        apart = self.last_window.mean - self.first_window.mean
        if not self.first_window.deviation:
            return math.copysign(math.inf, apart) if apart else 0.0
        return apart / self.first_window.deviation

    @property
    def narrow(self) -> int:
        """The number of runs whose best class leads by less than a quarter."""
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
    """Decodes the counters sent by a board. Raises InputError for another version's format."""
    found = _HEAD.unpack_from(data) if len(data) == OBSERVED_BYTES else (0,)
    if found[0] != OBSERVED_FORMAT:
        raise InputError(
            f"the board's counters are {len(data)} bytes of format {found[0]}, "
            f"this version reads {OBSERVED_BYTES} of format {OBSERVED_FORMAT}",
            hint="read them with the version of Solder that built the firmware",
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
    """Describes the counters; times use the board's counter."""
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
    """Yields lines about the counters; `time` formats ticks, `layers` are the model's layers, if known."""
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
