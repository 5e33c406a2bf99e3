"""Converts ticks of a board's counter to instructions, cycles and time, and summarizes measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from aot.errors import BoardError
from boards.board import Board
from platforms.cycles.stand_in import stand_in

_STILL = "still"
_CLOCKS = ("clock", _STILL)  # they count neither instructions nor cycles


@dataclass(frozen=True, slots=True)
class Spread:
    """Summary statistics of several measurements."""

    mean: float
    median: float
    min: float
    max: float
    std: float

    def as_json(self) -> dict[str, float]:
        return asdict(self)


def spread(values: Sequence[float]) -> Spread:
    return Spread(
        statistics.fmean(values),
        statistics.median(values),
        min(values),
        max(values),
        statistics.pstdev(values),
    )


@dataclass(frozen=True, slots=True)
class Meter:
    """Converts the ticks of a board's counter."""

    board: Board

    @property
    def unit(self) -> str:
        """The unit "instructions" or "cycles"; "" if the counter measures only time."""
        counter = self.board.own_counter
        if counter is None:
            return ""
        if counter.instruction_ns is not None:
            return "instructions"
        return "" if counter.driver in _CLOCKS else "cycles"

    @property
    def measures(self) -> bool:
        """True if the clock advances while code runs."""
        return self.board.counter.driver != _STILL

    def count(self, ticks: int) -> int:
        """Converts ticks to instructions or cycles."""
        counter = self.board.counter
        if counter.instruction_ns is not None:
            return counter.instructions(ticks)
        return round(ticks * self.board.clock_hz / counter.hz)

    def measured_seconds(self, ticks: int) -> float | None:
        """Converts ticks to seconds; returns None on a board that counts instructions."""
        return None if self.unit == "instructions" else self.seconds(ticks)

    def seconds(self, ticks: int) -> float:
        """Converts ticks to seconds; a lower bound for instructions, which need at least one cycle."""
        if self.unit == "instructions":
            return self.count(ticks) / self.board.clock_hz
        return ticks / self.board.counter.hz


def require_clock(board: Board) -> None:
    """Raises BoardError if nothing can be measured on the board."""
    if not Meter(board).measures:
        raise BoardError(
            f"{board.name} cannot be measured: its clock stands still while code runs",
            hint="use an emulated board that counts instructions, such as mps2-an386, or host for time",
        )


def emulated_board(board: Board, clock_hz: int | None = None) -> Board:
    """Returns an emulated board with the same core, or the board itself if it is emulated.

    Its clock is `clock_hz` or else the board's.
    """
    here = board if is_emulated(board) else stand_in(board)
    return replace(here, clock_hz=clock_hz or board.clock_hz)


def is_emulated(board: Board) -> bool:
    """Returns whether the board counts instructions instead of time."""
    return Meter(board).unit == "instructions"
