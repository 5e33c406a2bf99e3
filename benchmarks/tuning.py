"""Measures how quickly candidates are measured, against one build and boot for each.

This machine may be busy with other things, so that the processor's time is shown beside the clock's.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tuning_cases import BOARD, TASKS, TuningCase, measured, tuning_case
from codegen.kernels.knobs import Point
from platforms.base import compiler_platform_of
from platforms.board_files import load_board
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.loaded_bench import LoadedBench
from platforms.tuning.trial import MeasureChoices

_TRIALS = 192
_SINGLE = 6  # trials built and booted one by one, the whole firmware each time
Kind = type[ImageBench] | type[LoadedBench]


@dataclass(frozen=True, slots=True)
class Rate:
    """What trials took, their C made, compiled and linked, and the board started."""

    trials: int
    seconds: float
    cpu_seconds: float  # of this process, compilers and the emulator

    @property
    def each(self) -> float:
        return self.seconds / self.trials

    @property
    def cpu_each(self) -> float:
        return self.cpu_seconds / self.trials


def report() -> str:
    """All without a cache of objects."""
    case = tuning_case(*TASKS[0])
    points = case.task.space.points[:_TRIALS]
    single = _rate(ImageBench, case, [[point] for point in points[:: _TRIALS // _SINGLE]])
    kinds = {"loaded into the firmware": LoadedBench, "many in one image": ImageBench}
    rows = [(name, _rate(kind, case, [points])) for name, kind in kinds.items()]  # type: ignore[arg-type]
    head = f"  {'trials':<27}{'a second':>9}{'CPU ms each':>13}{'times as many':>15}{'by CPU time':>13}"
    lines = [_row(name, rate, single) for name, rate in (*rows, ("a build and a boot for each", single))]
    busy = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    return "\n".join([f"{case.task.name} on {BOARD}, load of the machine {busy}:", head, *lines])


def _row(name: str, rate: Rate, single: Rate) -> str:
    times, cpu_times = single.each / rate.each, single.cpu_each / rate.cpu_each
    what = f"  {name:<27}{1 / rate.each:>9.2f}{rate.cpu_each * 1e3:>13.1f}"
    return f"{what}{times:>14.1f}x{cpu_times:>12.1f}x"


def _rate(kind: Kind, case: TuningCase, runs: Sequence[Sequence[Point]]) -> Rate:
    """Each run in a new folder with a new board: nothing is kept from the one before."""
    begun, cpu_begun = time.perf_counter(), _cpu_seconds()
    for points in runs:
        _run(kind, case, points)
    spent = time.perf_counter() - begun, _cpu_seconds() - cpu_begun
    return Rate(sum(map(len, runs)), *spent)


def _run(kind: Kind, case: TuningCase, points: Sequence[Point]) -> None:
    board = load_board(BOARD)
    with tempfile.TemporaryDirectory() as folder:
        bench = kind(board, compiler_platform_of(board), Path(folder), MeasureChoices())
        with closing(bench):
            measured(bench, case, points)


def _cpu_seconds() -> float:
    import resource  # which Windows has not

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
