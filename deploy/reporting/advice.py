"""Suggests improvements: other options and other boards, all of them tried and measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aot.errors import DeployError
from aot.target import Optimize
from boards.board import Board
from boards.board_text import size_text
from codegen.job import ImportedModel
from deploy.devices.board_filter import COUNTED, Fit
from deploy.reporting.attempt import Attempt, Measuring, attempt_of, cycles_of

_MOST_BOARDS = 3  # maximum number shown

# Flag -> purpose, changed options.
_TRIED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "--optimize speed": ("fastest kernels", {"optimize": Optimize.SPEED}),
    "--optimize size": ("smaller code", {"optimize": Optimize.SIZE}),
    "--optimize ram": ("a different order of rows, without tables and scratch", {"optimize": Optimize.RAM}),
    "--stream": ("the input is pushed row by row", {"stream": True}),
    "--io caller": ("inputs and outputs are in the caller's memory", {"caller_owns_io": True}),
}


@dataclass(frozen=True, slots=True)
class OtherOption:
    """The same model and board with one option changed."""

    flag: str
    why: str
    ram_bytes: int
    flash_bytes: int
    ram_change: int  # relative to the requested options
    flash_change: int
    fits: bool
    cycles: int | None
    cycles_change: float | None  # 0.1 means a tenth more

    def as_json(self) -> dict[str, Any]:
        return {
            "flag": self.flag,
            "why": self.why,
            "ram_bytes": self.ram_bytes,
            "flash_bytes": self.flash_bytes,
            "ram_change": self.ram_change,
            "flash_change": self.flash_change,
            "fits": self.fits,
            "cycles": self.cycles,
            "cycles_change": self.cycles_change,
        }


@dataclass(frozen=True, slots=True)
class OtherBoard:
    """Another board that the model fits."""

    name: str
    core: str
    ram_bytes: int  # of the board
    flash_bytes: int
    ram_needed: int
    flash_needed: int
    counts_firmware: bool  # otherwise the needs are those of the model alone

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "core": self.core,
            "ram_bytes": self.ram_bytes,
            "flash_bytes": self.flash_bytes,
            "ram_needed": self.ram_needed,
            "flash_needed": self.flash_needed,
            "counts_firmware": self.counts_firmware,
        }

    def __str__(self) -> str:
        ram = f"{self.ram_needed:,} of {size_text(self.ram_bytes)} RAM"
        flash = f"{self.flash_needed:,} of {size_text(self.flash_bytes)} flash"
        return f"{self.name} ({self.core}): {ram}, {flash}, {COUNTED[self.counts_firmware]}"


def other_options(model: ImportedModel, base: Attempt, measuring: Measuring | None) -> Iterator[OtherOption]:
    """Tries each option, and skips any that change nothing or do not apply."""
    for flag, (why, change) in _TRIED.items():
        options = replace(base.options, **change)
        if options == base.options:
            continue
        try:
            tried = attempt_of(model, base.board, options, measuring)
        except DeployError:  # such as an input that cannot be streamed
            continue
        found = _compared(flag, why, base, tried)
        if found.ram_change or found.flash_change or found.cycles_change:
            yield found


def _compared(flag: str, why: str, base: Attempt, tried: Attempt) -> OtherOption:
    ram, flash = (tried.report.needed_bytes(role) for role in ("ram", "flash"))
    before, after = cycles_of(base), cycles_of(tried)
    return OtherOption(
        flag,
        why,
        ram,
        flash,
        ram - base.report.needed_bytes("ram"),
        flash - base.report.needed_bytes("flash"),
        tried.report.fits,
        after,
        after / before - 1 if before and after else None,
    )


def other_boards(fits: Sequence[Fit], base: Attempt) -> tuple[OtherBoard, ...]:
    """Returns the smallest boards that the model fits; if it fits the requested board, only smaller ones."""
    with_room = sorted(
        (fit for fit in fits if fit.board.name != base.board.name),
        key=lambda fit: (_size(fit.board), fit.board.name),
    )
    if base.report.fits:
        with_room = [fit for fit in with_room if _is_smaller(fit.board, base.board)]
    return tuple(
        OtherBoard(
            fit.board.name,
            fit.board.core.name,
            fit.board.target.ram_bytes,
            fit.board.target.flash_bytes,
            fit.report.needed_bytes("ram"),
            fit.report.needed_bytes("flash"),
            fit.report.counts_firmware,
        )
        for fit in with_room[:_MOST_BOARDS]
    )


def _size(board: Board) -> tuple[int, int]:
    return board.target.ram_bytes, board.target.flash_bytes


def _is_smaller(board: Board, than: Board) -> bool:
    (ram, flash), (its_ram, its_flash) = _size(board), _size(than)
    return ram <= its_ram and flash <= its_flash and (ram, flash) != (its_ram, its_flash)
