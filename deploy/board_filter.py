"""Which boards can do it: by core, memory and platform, and which of them hold a given model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aot.target import Target
from boards.board import Board
from codegen.compile import compile_model
from codegen.facts import ModelFacts, facts_of
from codegen.model import CompileOptions
from codegen.report import Report, make_report
from deploy.console import progress


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a board must have; None: anything will do."""

    core: str | None = None  # "m4" or "cortex-m4"
    ram_bytes: int = 0
    flash_bytes: int = 0
    platform: str | None = None

    def suits(self, board: Board) -> bool:
        return (
            self.core in (None, board.core, board.core.removeprefix("cortex-"))
            and self.ram_bytes <= board.target.ram_bytes
            and self.flash_bytes <= board.target.flash_bytes
            and self.platform in (None, *board.platforms)
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """A board that holds the model, and how."""

    board: Board
    report: Report


def fitting(boards: Sequence[Board], model: Path, options: CompileOptions) -> list[Fit]:
    """The boards with room for it. The model is compiled once for each kind of target among them."""
    kinds = dict.fromkeys(_kind(board.target) for board in boards)
    compiled: dict[Target, ModelFacts] = {}
    with progress(f"compiling {model.name}", len(kinds)) as bar:
        for kind in kinds:
            bar.step(", ".join(sorted(feature.value for feature in kind.features)) or "plain")
            compiled[kind] = facts_of(compile_model(model, kind, options))
    fits = (Fit(board, make_report(compiled[_kind(board.target)], board.target)) for board in boards)
    return [fit for fit in fits if fit.report.fits]


def _kind(target: Target) -> Target:
    """What code depends on: neither the core's name nor where memory lies."""
    return replace(target, core="", regions=())
