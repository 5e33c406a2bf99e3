"""Searches for a proc's schedule: measures sketches of its loop nest on a board, and keeps the best."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from aot.errors import InputError, did_you_mean
from aot.ir.types import Array
from boards.board import Board
from codegen.isa.table import lanes_of
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Point
from codegen.lang.loops_op import over_rows
from codegen.lang.misuse import checks_arguments, misuse
from codegen.lang.schedule import Schedule
from codegen.lang.template import Template, applied, require_template, template_space
from codegen.loops.ir import Proc, Role
from codegen.loops.sketches import is_sound, nest_of
from codegen.loops.tensorize import Lanes
from codegen.loops.text import print_proc
from deploy.cli.console import OnProgress, reports_progress
from deploy.compiler.board_or_target import board_or_target_of
from deploy.devices.buildable_boards import require_board
from deploy.devices.kernel_build import require_sound, schedule_of
from deploy.tuner.tune_model import TuneChoices, Tuning, begin_nest, search_from
from platforms.tuning.auto import AutoTask, auto_task, template_task
from platforms.tuning.search import OnTrial, keep_silent
from platforms.tuning.tuners import TUNERS


@dataclass(frozen=True)
class SearchedSchedule:
    """The best schedule measured, compared with the unscheduled proc."""

    schedule: Schedule
    unit: str  # "instructions", "cycles" or "ticks"
    naive: int  # cost of the unscheduled proc in that unit
    best: int
    trials: int
    failed: int  # number of failed trials

    @property
    def speedup(self) -> float:
        return self.naive / self.best

    def __str__(self) -> str:
        head = (
            f"# {self.naive:,} to {self.best:,} {self.unit} in {self.trials} trials, {self.failed} failed\n"
        )
        return head + self.schedule.script()


@checks_arguments
@reports_progress
def search(
    kernel: Schedule | Proc,
    board: str,
    trials: int = 300,
    template: Template | None = None,
    tuner: str | None = None,
    seed: int = 0,
    records: str | Path | None = None,
    on_trial: OnTrial = keep_silent,
    *,
    on_progress: OnProgress | None = None,
) -> SearchedSchedule:
    """Searches for a schedule of an unscheduled proc: tiling, loop order, unrolling.

    A `template(schedule, knobs)` applies steps itself and requests search parameters from `knobs`. `records`
    stores every trial, so that a search can be continued. Candidates are rejected if their results differ
    from the loop interpreter's.
    """
    schedule = schedule_of(kernel)
    if trials < 1:
        raise misuse(f"{trials} trials: at least 1 is needed")
    if tuner is not None and tuner not in TUNERS:
        raise misuse(
            f'tuner "{tuner}" is not known{did_you_mean(tuner, TUNERS)}', f"there are {', '.join(TUNERS)}"
        )
    if template is not None:
        require_template(template)
    if seed < 0:
        raise misuse(f"a seed must be 0 or more, not {seed}", "0 or more")
    require_sound(schedule)
    _require_unscheduled(schedule)
    place, choices = board_or_target_of(board), TuneChoices(trials=trials, tuner=tuner, seed=seed)
    require_board(place)
    marked, lanes = _marked(schedule.proc), _lanes(schedule.proc, place)
    auto = (
        _sketched(schedule, marked, lanes, seed)
        if template is None
        else _of_template(template, schedule, marked, seed)
    )

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
            hint="build the unscheduled proc first: that shows why",
        )
    found = _best(schedule, template, lanes, progress.best)
    return SearchedSchedule(
        found, tuning.setting.unit, progress.default_cost, progress.best_cost, progress.tried, progress.failed
    )


def _reporting(on_trial: OnTrial) -> Callable[[Tuning], OnTrial]:
    return lambda _tuning: on_trial


def _lanes(proc: Proc, board: Board) -> Lanes | None:
    """Returns the core's SIMD lanes if they can compute the proc, else None."""
    lanes = lanes_of(board.target)
    nest = nest_of(proc, lanes)
    if lanes is None or nest is None:
        return None
    alone = {**dict.fromkeys(nest.open_numbers, 1), "lanes": lanes.count}
    return lanes if is_sound(proc, nest.steps(alone)) else None


def _sketched(schedule: Schedule, marked: Proc, lanes: Lanes | None, seed: int) -> AutoTask:
    if nest_of(schedule.proc) is None:
        raise InputError(
            f"{schedule.proc.name} contains a reduction, so its elements cannot be computed in any order",
            hint="search each tensor with a reduction separately",
        )
    return auto_task(over_rows(marked), seed, lanes)


def _of_template(template: Template, schedule: Schedule, marked: Proc, seed: int) -> AutoTask:
    def kernel(point: Point, constants: Mapping[str, Array]) -> Kernel:
        made = applied(template, schedule, point)
        proc = over_rows(replace(made.proc, name=marked.name))
        return Kernel(proc, "", "template", "searched", (), made.stored(constants))

    return template_task(
        over_rows(marked), template_space(f"{marked.name} template", template, schedule), kernel, seed
    )


def _best(schedule: Schedule, template: Template | None, lanes: Lanes | None, point: Point) -> Schedule:
    if template is not None:
        return applied(template, schedule, point)
    nest, found = nest_of(schedule.proc, lanes), copy(schedule)
    assert nest is not None
    found.apply_sketch(nest.steps(point))
    return found


def _require_unscheduled(schedule: Schedule) -> None:
    proc = schedule.proc
    if schedule.trace:
        raise InputError(
            f"{proc.name} already has {len(schedule.trace)} steps", hint="search a schedule without steps"
        )
    if any(p.role is Role.SCRATCH for p in proc.params):
        raise InputError(
            f"{proc.name} has tensors between its nests",
            hint="search each tensor with a reduction separately",
        )


def _marked(proc: Proc) -> Proc:
    """Renames the proc with a hash of its content, because records refer to it by name."""
    digest = zlib.crc32(print_proc(proc).encode())
    return replace(proc, name=f"{proc.name}_{digest:08x}")
