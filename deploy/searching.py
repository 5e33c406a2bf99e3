"""Searches a schedule for a proc: sketches of its nest are measured on a board, and the best one kept."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import InputError
from codegen.lang.loops_op import over_rows
from codegen.lang.schedule import LoopSchedule
from codegen.loops.ir import Proc, Role
from codegen.loops.sketches import nest_of
from codegen.loops.text import print_proc
from deploy.tuning import TuneChoices, Tuning, begin_nest, search_from
from platforms.board_files import load_board
from platforms.tuning.auto import auto_task
from platforms.tuning.search import OnTrial, keep_silent


@dataclass(frozen=True)
class SearchedSchedule:
    """The best schedule that was measured, beside the proc as it was meant."""

    schedule: LoopSchedule
    unit: str  # "instructions", "cycles" or "ticks"
    naive: int  # of the proc as it was meant, in that unit
    best: int
    trials: int
    failed: int  # of the trials

    @property
    def speedup(self) -> float:
        return self.naive / self.best

    def __str__(self) -> str:
        head = (
            f"# {self.naive:,} to {self.best:,} {self.unit} in {self.trials} trials, {self.failed} failed\n"
        )
        return head + self.schedule.script()


def search(
    kernel: LoopSchedule | Proc,
    board: str,
    trials: int = 300,
    tuner: str | None = None,
    seed: int = 0,
    records: str | Path | None = None,
    on_trial: OnTrial = keep_silent,
) -> SearchedSchedule:
    """Searches the schedule of a proc that has none: tiles, the order of loops, what is written out.

    `records` keeps every trial, so that a search goes on where it was left. Candidates whose results differ
    from the loop interpreter's are no candidates.
    """
    schedule = kernel if isinstance(kernel, LoopSchedule) else LoopSchedule(kernel)
    _require_nest(schedule)
    place, choices = load_board(board), TuneChoices(trials=trials, tuner=tuner, seed=seed)
    auto = auto_task(over_rows(_marked(schedule.proc)), seed)

    def begin(file: Path) -> Tuning:
        return search_from(
            lambda known: begin_nest(auto, place, choices, known), place, choices, file, _reporting(on_trial)
        )

    if records is not None:
        tuning = begin(Path(records))
    else:
        with tempfile.TemporaryDirectory() as folder:
            tuning = begin(Path(folder) / "records.jsonl")
    (progress,) = tuning.searches
    if progress.best is None or progress.best_cost is None or progress.default_cost is None:
        raise InputError(
            f"none of {progress.tried} trials of {schedule.proc.name} ran on {place.name}",
            hint="build the proc as it is first: that shows why",
        )
    nest = nest_of(schedule.proc)
    assert nest is not None
    found = copy(schedule)
    found.apply_sketch(nest.steps(progress.best))
    return SearchedSchedule(
        found, tuning.setting.unit, progress.default_cost, progress.best_cost, progress.tried, progress.failed
    )


def _reporting(on_trial: OnTrial) -> Callable[[Tuning], OnTrial]:
    return lambda _tuning: on_trial


def _require_nest(schedule: LoopSchedule) -> None:
    proc = schedule.proc
    if schedule.trace:
        raise InputError(
            f"{proc.name} has {len(schedule.trace)} steps of its own", hint="search a schedule without any"
        )
    if any(p.role is Role.SCRATCH for p in proc.params) or nest_of(proc) is None:
        raise InputError(
            f"{proc.name} is not one nest whose elements can be computed in any order",
            hint="search each tensor that needs a reduction for itself",
        )


def _marked(proc: Proc) -> Proc:
    """The proc under a name that others of other sizes do not have, since records name it."""
    digest = zlib.crc32(print_proc(proc).encode())
    return replace(proc, name=f"{proc.name}_{digest:08x}")
