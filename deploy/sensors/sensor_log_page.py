"""Formats the log of a sensor program: a line for each window, and a summary at the end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import BinaryIO

from aot.errors import InputError
from aot.wording import counted, printable
from deploy.benchmark.field_statistics import Observed, observed_lines
from deploy.sensors.sensor_log import (
    FoundBox,
    LogError,
    Losses,
    Record,
    ReportedCounters,
    Start,
    WindowRun,
    read_line,
)

Instructions = Callable[[int], int]  # converts an emulated board's ticks
_NOBODY_KNOWS = Start("", "", 1, 0, 1, 1)
_NOTHING_LOST = Losses(is_end=False, runs=0, row=0, lost_rows=0, lost_windows=0, stalls=0)
_LONGEST_LINE = 4096  # longer lines are not log lines


@dataclass
class LogReader:
    """Accepts a program's output in pieces of any size, and yields formatted lines."""

    instructions: Instructions | None = None  # if the program's time is an emulator's
    start: Start = _NOBODY_KNOWS
    faults: list[str] = field(default_factory=list)
    _rest: bytes = b""
    _runs: list[WindowRun] = field(default_factory=list)
    _boxes: Counter[str] = field(default_factory=Counter)
    _losses: Losses = _NOTHING_LOST
    _counters: Observed | None = None  # the latest report
    _missing: int = 0  # runs without a line
    _damaged: int = 0  # number of damaged lines
    _reported: int = 0  # runs reported by the program

    def feed(self, received: bytes) -> Iterator[str]:
        """Yields the lines that are complete now. Raises InputError for a log of another format."""
        *lines, self._rest = (self._rest + received).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            yield from self._shown(line)

    def _shown(self, line: bytes) -> Iterator[str]:
        try:
            record = read_line(line)
        except LogError as error:
            self._damaged += 1
            yield f"a line is lost: {error}: {printable(line.decode('utf-8', 'replace'))}"
            return
        if record is None:
            text = printable(line.decode("utf-8", "replace").rstrip("\r"))
            yield from [text] if text else []
        else:
            yield self._take(record)

    def _take(self, record: Record) -> str:
        if isinstance(record, Start):
            self._forget()
            self.start = record
            return self._start_line()
        if isinstance(record, WindowRun):
            return self._run_line(record)
        if isinstance(record, FoundBox):
            return self._box_line(record)
        if isinstance(record, Losses):
            return self._losses_line(record)
        if isinstance(record, ReportedCounters):
            self._counters = record.counters
            return f"            {counted(record.counters.runs, 'run')} observed"
        self.faults.append(record.message)
        return f"the program ends: {printable(record.message)}"

    def _forget(self) -> None:
        """Resets the state, because the program was restarted."""
        self._runs, self._losses, self._counters = [], _NOTHING_LOST, None
        self._boxes.clear()
        self._missing = self._reported = 0

    def _start_line(self) -> str:
        start = self.start
        span = f"{start.window_us / 1000:,g} ms" if start.window_us else "an unknown time"
        lanes = f", {start.lanes} open at a time" if start.lanes > 1 else ""
        name = f"{printable(start.app)} with {printable(start.model)}"
        return f"{name}: windows of {counted(start.window_rows, 'row')}, {span}{lanes}"

    def _run_line(self, run: WindowRun) -> str:
        before = self._runs[-1] if self._runs else None
        self._missing += max(0, run.number - self._reported - 1)
        self._reported = run.number
        self._runs.append(run)
        share = self._busy_share(run.busy_ticks, run.row - (before.row if before else 0))
        found = printable(run.found) or "-"
        return f"{self._at(run.row)}  {found:12} {run.score:7.3f}   {self._time(run.latency_ticks)}{share}"

    def _box_line(self, box: FoundBox) -> str:
        self._boxes[box.found] += 1
        name = printable(box.found)
        return f"            {name:12} {box.score:7.3f}   at {box.left},{box.top} to {box.right},{box.bottom}"

    def _losses_line(self, losses: Losses) -> str:
        rows = losses.lost_rows - self._losses.lost_rows
        stalls = losses.stalls - self._losses.stalls
        self._losses = losses
        self._missing += max(0, losses.runs - self._reported)
        self._reported = losses.runs
        if losses.is_end:
            return f"{self._at(losses.row)}  the end"
        what = counted(rows, "row") + " lost" if rows else ""
        stalled = "the sensor delivers nothing" if stalls else ""
        return (
            f"{self._at(losses.row)}  {' and '.join(filter(None, [what, stalled]))}: the windows start again"
        )

    def _at(self, row: int) -> str:
        start = self.start
        if not start.window_us:
            return f"row {row:6,}"
        return f"{row * start.window_us / start.window_rows / 1e6:8.2f} s"

    def _time(self, ticks: int) -> str:
        if self.instructions is not None:
            return f"{self.instructions(ticks):12,} instructions"
        return f"{ticks / self.start.ticks_hz * 1000:9.2f} ms"

    def _busy_share(self, ticks: int, rows: int) -> str:
        """Formats the fraction of time in which the processor was busy; "" for an emulator."""
        span_us = rows * self.start.window_us / self.start.window_rows
        if self.instructions is not None or span_us <= 0:
            return ""
        return f"   busy {ticks / self.start.ticks_hz * 1e8 / span_us:5.1f} %"

    @property
    def has_ended(self) -> bool:
        """True after the program has reported its end."""
        return self._losses.is_end

    def summary(self) -> Iterator[str]:
        """Yields the lines of the summary."""
        losses, runs = self._losses, self._runs
        found = Counter(run.found for run in runs if run.found)
        names = ", ".join(f"{printable(name)} {count}" for name, count in sorted(found.items()))
        yield f"{counted(len(runs), 'window')}, {counted(sum(found.values()), 'decision')}" + (
            f": {names}" if names else ""
        )
        if self._boxes:
            each = ", ".join(f"{printable(name)} {count}" for name, count in sorted(self._boxes.items()))
            yield f"{counted(self._boxes.total(), 'thing')} in boxes: {each}"
        yield (
            f"lost: {counted(losses.lost_rows, 'row')}, {counted(losses.lost_windows, 'window')} given up, "
            f"{counted(losses.stalls, 'stall')}"
        )
        if self._missing or self._damaged:
            yield (
                f"the log itself: {counted(self._missing, 'window')} without a line, "
                f"{counted(self._damaged, 'damaged line')}"
            )
        if runs:
            ticks = [run.latency_ticks for run in runs]
            yield (
                f"latency: {self._time(round(median(ticks))).strip()} (median), "
                f"{self._time(max(ticks)).strip()} at most{self._whole_load()}"
            )
        if self._counters is not None:
            yield from observed_lines(self._counters, lambda each: self._time(round(each)).strip())

    def _whole_load(self) -> str:
        """Formats the processor's total load."""
        ticks, rows = sum(run.busy_ticks for run in self._runs), self._runs[-1].row
        if self.instructions is None or not self.start.window_us:
            return self._busy_share(ticks, rows).replace("   busy ", "; busy ")
        seconds = rows * self.start.window_us / self.start.window_rows / 1e6
        return f"; busy with {round(self.instructions(ticks) / seconds):,} instructions a second"


# Shows the log of a sensor program while it arrives, from a board or a file.

_READ_BYTES = 4096


def explain(pieces: Iterable[bytes], reader: LogReader, is_live: bool = False) -> None:
    """Prints a line for each record, and the summary. Raises InputError if the program has failed.

    A live source is closed after the program's end, because a board then stays silent.
    """
    for piece in pieces:
        for line in reader.feed(piece):
            print(line, flush=True)
        if is_live and reader.has_ended:
            break
    for line in reader.feed(b"\n"):
        print(line)
    if not reader.start.app:
        raise InputError(
            "no sensor log found in the input",
            hint="create such a program with deploy new --app kws; its log begins with a line $APP,...",
        )
    for line in reader.summary():
        print(line)
    if reader.faults:
        raise InputError(f"the program has ended: {reader.faults[-1]}")


def explain_file(path: Path) -> None:
    """Shows the log in a file or from standard input."""
    if str(path) == "-":
        explain(_pieces(sys.stdin.buffer), LogReader())
        return
    try:
        with path.open("rb") as file:
            explain(_pieces(file), LogReader())
    except OSError as error:
        raise InputError(f"the log cannot be read: {error.strerror}", str(path)) from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := (file.read1(_READ_BYTES) if hasattr(file, "read1") else file.read(_READ_BYTES)):
        yield piece
