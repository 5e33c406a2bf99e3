"""The objectives of `deploy tune`: the quantity to minimize, and the bench that measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.errors import InputError
from boards.board import Board
from deploy.benchmark.meter import Meter, is_emulated
from platforms.cycles.model import lacks
from platforms.cycles.stand_in import recorder_of
from platforms.tuning.board_bench import BoardBench
from platforms.tuning.cycle_bench import CycleBench
from platforms.tuning.size_bench import SizeBench

CYCLES, INSTRUCTIONS, SIZE = OBJECTIVES = ("cycles", "instructions", "size")
BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class CostUnit:
    """The unit of costs, and how measurements are converted to it."""

    name: str
    count: Callable[[int], int]
    bench: type[BoardBench] | None  # None: any bench that reads the board's counter

    @property
    def counts_once(self) -> bool:
        """True if the cost does not grow with the number of runs."""
        return self.name == BYTES


def cost_unit_for(board: Board, objective: str | None) -> CostUnit:
    """Returns the unit of costs for a search on a board; None selects its counter's. Raises InputError."""
    meter = Meter(board)
    if objective == SIZE:
        return CostUnit(BYTES, lambda each: each, SizeBench)
    if objective == CYCLES and is_emulated(board):
        _require_model(board)
        return CostUnit(CYCLES, lambda each: each, CycleBench)
    if objective not in (None, meter.unit):
        raise InputError(
            f"{board.name} counts {meter.unit or 'time'}, not {objective}", hint=_other_way(meter.unit)
        )
    return CostUnit(meter.unit or "ticks", meter.count if meter.unit else lambda ticks: ticks, None)


def _require_model(board: Board) -> None:
    reason = lacks(board) or ("" if recorder_of(board) else "its emulator cannot record instructions")
    if reason:
        raise InputError(f"cycles on {board.name} are not known: {reason}", hint=_other_way(INSTRUCTIONS))


def _other_way(unit: str) -> str:
    return f"--objective {unit}, or size" if unit else "omit --objective, or use --objective size"
