"""The log of programs for a sensor: lines such as $RUN,7,200,yes,998,5182,6499*5C1F, read and checked."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aot.errors import InputError
from deploy.benchmark.field_statistics import Observed, read_observed

LOG_FORMAT = 1
_LINE = re.compile(rb"\$([^$*\r\n]*)\*([0-9A-F]{4})\s*")


@dataclass(frozen=True, slots=True)
class Start:
    """Begins the log: the program, its model and its units of time."""

    app: str
    model: str
    ticks_hz: int
    window_us: int  # 0: not known
    window_rows: int
    lanes: int


@dataclass(frozen=True, slots=True)
class WindowRun:
    """Tells one window: what was found in it, and what that took."""

    number: int
    row: int  # the last of the window, counted from 1
    found: str  # "": nothing
    score: float
    latency_ticks: int  # from the window's last row to the decision
    busy_ticks: int  # since the run before


@dataclass(frozen=True, slots=True)
class FoundBox:
    """Tells one thing that a run found, in pixels of the camera's picture; it follows its run."""

    run: int
    found: str
    score: float
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class ToldCounters:
    """Tells what the model's runs have counted of themselves, where it was compiled with --observe."""

    counters: Observed


@dataclass(frozen=True, slots=True)
class Losses:
    """Tells what is lost so far, after a gap in the rows or at the end."""

    is_end: bool
    runs: int
    row: int
    lost_rows: int
    lost_windows: int  # that had begun and were given up
    stalls: int


@dataclass(frozen=True, slots=True)
class ProgramFault:
    """Tells why the program has ended before its time."""

    says: str


Record = Start | WindowRun | FoundBox | ToldCounters | Losses | ProgramFault


class LogError(ValueError):
    """A line looks like a record and is none."""


def read_line(line: bytes) -> Record | None:
    """The record in a line; None where the program prints something else. Raises LogError, InputError."""
    found = _LINE.fullmatch(line)
    if found is None:
        if line.startswith(b"$"):
            raise LogError("it is not whole")
        return None
    if binascii.crc_hqx(found[1], 0xFFFF) != int(found[2], 16):
        raise LogError("its checksum is wrong")
    name, *words = found[1].decode("utf-8", "replace").split(",")
    if name not in _RECORDS:
        raise LogError("its name is not known")
    try:
        return _RECORDS[name](words)
    except (ValueError, TypeError) as error:
        raise LogError("it has other words than its record") from error


def _start(words: list[str]) -> Start:
    number, app, model, *rest = words
    if int(number) != LOG_FORMAT:
        raise InputError(
            f"the program writes logs of format {int(number)}, this version reads {LOG_FORMAT}",
            hint="decode it with the version of Solder that made the program",
        )
    return Start(app, model, *map(int, rest))


def _run(words: list[str]) -> WindowRun:
    number, row, found, thousandths, latency, busy = words
    return WindowRun(int(number), int(row), found, int(thousandths) / 1000, int(latency), int(busy))


def _box(words: list[str]) -> FoundBox:
    run, found, thousandths, left, top, right, bottom = words
    return FoundBox(int(run), found, int(thousandths) / 1000, int(left), int(top), int(right), int(bottom))


def _counters(words: list[str]) -> ToldCounters:
    (data,) = words
    return ToldCounters(read_observed(bytes.fromhex(data)))


def _losses(is_end: bool) -> Callable[[list[str]], Losses]:
    return lambda words: Losses(is_end, *map(int, words))


def _fault(words: list[str]) -> ProgramFault:
    return ProgramFault(",".join(words))


def _error(words: list[str]) -> ProgramFault:
    (number,) = words
    return ProgramFault(f"the model's function has returned {int(number)}, which its header names")


_RECORDS: Mapping[str, Callable[[list[str]], Record]] = {
    "APP": _start,
    "RUN": _run,
    "BOX": _box,
    "OBS": _counters,
    "GAP": _losses(is_end=False),
    "END": _losses(is_end=True),
    "FAULT": _fault,
    "ERROR": _error,
}
