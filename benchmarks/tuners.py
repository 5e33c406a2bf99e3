"""Compares the tuners: all points of some tasks are measured once, searches then run on what was found."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.tuning_cases import BOARD, TASKS, measured, tuning_case
from codegen.kernels.knobs import Space
from platforms.base import compiler_platform_of
from platforms.board_files import load_board
from platforms.tuning.loaded_bench import LoadedBench
from platforms.tuning.trial import MeasureChoices
from platforms.tuning.tuners.tuner import Key, key_of, make_tuner

SPACES = Path(__file__).parent / "tuning_spaces.json"
TUNERS = ("random", "anneal", "ga", "model")
SEEDS = 20  # fewer leave much to chance
TRIALS = 64  # of each search
_IN_A_BATCH = 8


@dataclass(frozen=True)
class MeasuredSpace:
    """What every point of a task costs."""

    model: str
    task: str
    knobs: tuple[str, ...]
    costs: tuple[tuple[int, ...], ...]  # for each point a value for every knob, and instructions

    def of(self, space: Space) -> dict[Key, int]:
        """Raises SystemExit where the space has points that were not measured."""
        known = {key_of(dict(zip(self.knobs, row, strict=False))): row[-1] for row in self.costs}
        new = [point for point in space.points if key_of(point) not in known]
        if new:
            raise SystemExit(f"{self.task} has {len(new)} new points: python -m benchmarks measure-spaces")
        return {key_of(point): known[key_of(point)] for point in space.points}


def read_spaces() -> tuple[MeasuredSpace, ...]:
    return tuple(MeasuredSpace(**facts) for facts in json.loads(SPACES.read_text()))


def write_spaces(spaces: Iterable[MeasuredSpace]) -> None:
    lines = ",\n".join(json.dumps(asdict(space), separators=(",", ":")) for space in spaces)
    SPACES.write_text(f"[\n{lines}\n]\n")


def measure_spaces() -> tuple[MeasuredSpace, ...]:
    return tuple(_measured_space(model, task) for model, task in TASKS)


def _measured_space(model: str, task: str) -> MeasuredSpace:
    case, board = tuning_case(model, task), load_board(BOARD)
    sys.stderr.write(f"{task}: {len(case.task.space.points)} points\n")
    with tempfile.TemporaryDirectory() as folder:
        made = LoadedBench(board, compiler_platform_of(board), Path(folder), MeasureChoices())
        with closing(made) as bench:
            outcomes = measured(bench, case, case.task.space.points)
    space = case.task.space
    costs = [board.counter.instructions(outcome.ticks[0]) for outcome in outcomes]
    names = tuple(knob.name for knob in space.knobs)
    rows = ((*(p[name] for name in names), cost) for p, cost in zip(space.points, costs, strict=True))
    return MeasuredSpace(model, task, names, tuple(rows))


def report(spaces: Sequence[MeasuredSpace]) -> str:
    lines = [f"best cost after {TRIALS} trials over the best of all, mean of {SEEDS} seeds:"]
    lines.append(f"  {'task':<42}{'points':>7}{'default':>9}" + "".join(f"{name:>9}" for name in TUNERS))
    lines += [_row(space) for space in spaces]
    return "\n".join(lines)


def _row(measured_space: MeasuredSpace) -> str:
    space = tuning_case(measured_space.model, measured_space.task).task.space
    costs = measured_space.of(space)
    means = compared(space, costs, SEEDS)
    default = costs[key_of(space.default)] / min(costs.values())
    numbers = (default, *(means[name] for name in TUNERS))
    head = f"  {measured_space.task:<42}{len(costs):>7}"
    return head + "".join(f"{number:>9.4f}" for number in numbers)


def compared(space: Space, costs: dict[Key, int], seeds: int) -> dict[str, float]:
    """For each tuner the mean of what it finds, over the best there is."""
    best = min(costs.values())
    return {
        name: statistics.fmean(_searched(name, space, costs, seed) for seed in range(seeds)) / best
        for name in TUNERS
    }


def _searched(name: str, space: Space, costs: dict[Key, int], seed: int) -> float:
    """As a search goes: the default first, then batches."""
    tuner = make_tuner(name, space, seed)
    tuner.learn([(space.default, float(costs[key_of(space.default)]))])
    for _ in range(_IN_A_BATCH, TRIALS + 1, _IN_A_BATCH):
        tuner.learn([(point, float(costs[key_of(point)])) for point in tuner.propose(_IN_A_BATCH)])
    assert tuner.best is not None
    return tuner.best[1]
