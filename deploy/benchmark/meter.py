"""Converts the ticks of a board's counter to instructions, cycles and time, and spreads to five numbers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from boards.board import Board
from platforms.cycles.stand_in import stand_in

_STILL = "still"
_CLOCKS = ("clock", _STILL)  # which count neither instructions nor cycles


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements in five numbers."""

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
        """The unit "instructions" or "cycles"; "" where the counter measures nothing but time."""
        counter = self.board.own_counter
        if counter is None:
            return ""
        if counter.instruction_ns is not None:
            return "instructions"
        return "" if counter.driver in _CLOCKS else "cycles"

    @property
    def measures(self) -> bool:
        """True where time passes while code runs."""
        return self.board.counter.driver != _STILL

    def count(self, ticks: int) -> int:
        """The instructions or cycles that these ticks are."""
        counter = self.board.counter
        if counter.instruction_ns is not None:
            return counter.instructions(ticks)
        return round(ticks * self.board.clock_hz / counter.hz)

    def measured_seconds(self, ticks: int) -> float | None:
        """The time that these ticks took; None on a board that counts instructions."""
        return None if self.unit == "instructions" else self.seconds(ticks)

    def seconds(self, ticks: int) -> float:
        """At least as long as these ticks take: an instruction takes one cycle or more."""
        if self.unit == "instructions":
            return self.count(ticks) / self.board.clock_hz
        return ticks / self.board.counter.hz


def emulated_board(board: Board, clock_hz: int | None = None) -> Board:
    """Returns the board, or an emulated one with the same core; its clock is `clock_hz` or else the
    board's.
    """
    here = board if is_emulated(board) else stand_in(board)
    return replace(here, clock_hz=clock_hz or board.clock_hz)


def is_emulated(board: Board) -> bool:
    """True where the board counts instructions and not time."""
    return Meter(board).unit == "instructions"
