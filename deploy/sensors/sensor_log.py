"""Parses and checks the log of sensor programs: lines such as $RUN,7,200,yes,998,5182,6499*5C1F."""

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
    """The first record: the program, its model and its time units."""

    app: str
    model: str
    ticks_hz: int
    window_us: int  # 0: unknown
    window_rows: int
    lanes: int


@dataclass(frozen=True, slots=True)
class WindowRun:
    """A window: its decision and cost."""

    number: int
    row: int  # last row of the window, counted from 1
    found: str  # "": no decision
    score: float
    latency_ticks: int  # from the window's last row to the decision
    busy_ticks: int  # since the previous run


@dataclass(frozen=True, slots=True)
class FoundBox:
    """An object detected by a run, in pixels of the camera's picture. Follows its run."""

    run: int
    found: str
    score: float
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class ReportedCounters:
    """Counters of the model's runs, if it was compiled with --observe."""

    counters: Observed


@dataclass(frozen=True, slots=True)
class Losses:
    """Total losses, reported after a gap in the rows or at the end."""

    is_end: bool
    runs: int
    row: int
    lost_rows: int
    lost_windows: int  # windows started but abandoned
    stalls: int


@dataclass(frozen=True, slots=True)
class ProgramFault:
    """Why the program ended early."""

    message: str


Record = Start | WindowRun | FoundBox | ReportedCounters | Losses | ProgramFault


class LogError(ValueError):
    """Raised for a line that looks like a record but is invalid."""


def read_line(line: bytes) -> Record | None:
    """Parses a line; returns None for other output of the program. Raises LogError, InputError."""
    found = _LINE.fullmatch(line)
    if found is None:
        if line.startswith(b"$"):
            raise LogError("it is incomplete")
        return None
    if binascii.crc_hqx(found[1], 0xFFFF) != int(found[2], 16):
        raise LogError("its checksum is wrong")
    name, *words = found[1].decode("utf-8", "replace").split(",")
    if name not in _RECORDS:
        raise LogError("its name is not known")
    try:
        return _RECORDS[name](words)
    except (ValueError, TypeError) as error:
        raise LogError("its fields do not match its record") from error


def _start(words: list[str]) -> Start:
    number, app, model, *rest = words
    if int(number) != LOG_FORMAT:
        raise InputError(
            f"the program writes logs of format {int(number)}, this version reads {LOG_FORMAT}",
            hint="decode it with the version of Solder that built the program",
        )
    return Start(app, model, *map(int, rest))


def _run(words: list[str]) -> WindowRun:
    number, row, found, thousandths, latency, busy = words
    return WindowRun(int(number), int(row), found, int(thousandths) / 1000, int(latency), int(busy))


def _box(words: list[str]) -> FoundBox:
    run, found, thousandths, left, top, right, bottom = words
    return FoundBox(int(run), found, int(thousandths) / 1000, int(left), int(top), int(right), int(bottom))


def _counters(words: list[str]) -> ReportedCounters:
    (data,) = words
    return ReportedCounters(read_observed(bytes.fromhex(data)))


def _losses(is_end: bool) -> Callable[[list[str]], Losses]:
    return lambda words: Losses(is_end, *map(int, words))


def _fault(words: list[str]) -> ProgramFault:
    return ProgramFault(",".join(words))


def _error(words: list[str]) -> ProgramFault:
    (number,) = words
    return ProgramFault(f"the model's function returned {int(number)}; its header names the error")


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
