"""Which boards can do it: by core, memory and platform, and which of them hold a given model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aot.target import Optimize, Target
from boards.board import Board
from codegen.compile import compile_model
from codegen.facts import facts_of
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
    """The boards with room for it. The model is compiled once for each kind of target among them.

    Where a board has too little room for that, once more for what needs least.
    """
    kinds = dict.fromkeys(_kind(board.target) for board in boards)
    goals = (options, replace(options, optimize=Optimize.RAM))
    found: dict[str, Fit] = {}
    with progress(f"compiling {model.name}", len(kinds)) as bar:
        for kind in kinds:
            bar.step(", ".join(sorted(feature.value for feature in kind.features)) or "plain")
            for goal in goals:
                missing = [b for b in boards if b.name not in found and _kind(b.target) == kind]
                if missing:
                    facts = facts_of(compile_model(model, kind, goal))
                    fits = [Fit(board, make_report(facts, board.target)) for board in missing]
                    found |= {fit.board.name: fit for fit in fits if fit.report.fits}
    return [found[board.name] for board in boards if board.name in found]


def _kind(target: Target) -> Target:
    """What code depends on: neither the core's name nor where memory lies."""
    return replace(target, core="", regions=())
