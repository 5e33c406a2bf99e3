"""Determines by measurement which layers an accelerator computes faster than the CPU.

Between the two, rows may have to be copied into another format, so single layers are not conclusive: whole
model runs are measured. The search starts with all layers or none on the accelerator, whichever is faster.
Then it moves one kind of layer at a time until nothing improves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aot.errors import DeployError
from boards.board import Board
from codegen.accelerators.choice import ON_CPU, ON_DEVICE
from codegen.job import Job
from codegen.kernels.knobs import Point
from codegen.kernels.tuning_records import TuningRecord
from deploy.benchmark.meter import Meter
from deploy.benchmark.run_series import run_series
from deploy.cli.console import progress
from deploy.compiler.accelerator_tasks import DeviceTask, chosen_devices
from deploy.compiler.compile_model import compile_on
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build, prepare_compiled
from deploy.devices.session import open_device
from deploy.inputs.samples import random_samples
from deploy.verification.compare_layers import differences, reference_outputs
from platforms.base import BuildChoices
from platforms.tuning.record_file import RecordFile
from platforms.tuning.search import Setting
from platforms.tuning.trial import Failure

Measured = tuple[int | None, str, float]  # cost or None, error, seconds
CostOf = Callable[[Mapping[str, Point]], int]  # cost of a run with these points; raises DeployError


@dataclass(frozen=True)
class Trials:
    """Runs of a model on a board, with a choice of device for each kind of layer."""

    job: Job
    board: Board
    line: LineOptions
    build: BuildChoices
    repeat: int

    def cost(self, points: Mapping[str, Point]) -> int:
        """Returns the cost of a run.

        Raises DeployError if the model does not fit or its outputs are wrong.
        """
        compiled = compile_on(self.board, replace(self.job, tuned=points))
        samples = random_samples(compiled.artifact.facts.inputs, 1)
        firmware = build(prepare_compiled(compiled), self.build)
        with open_device(firmware, self.line) as device:
            measured = run_series(device, samples, self.repeat)
        expected = reference_outputs(self.job.model.graph, samples)
        wrong = differences(expected, measured.outputs, measured.specs)
        if wrong:
            raise DeployError(f"{Failure.WRONG.value}: {wrong[0]}")
        meter, ticks = Meter(device.board), sorted(measured.ticks)[(len(measured.ticks) - 1) // 2]
        return meter.count(ticks) if meter.unit else ticks


@dataclass
class _Search:
    """The state of the search: the device of each kind of layer, and the cost of a run."""

    cost_of: CostOf
    file: RecordFile
    setting: Setting
    points: dict[str, Point]
    cost: int
    default_cost: int  # with all layers on their accelerators
    done: int = 0
    known: dict[frozenset[str], Measured] = field(default_factory=dict)  # by the set of tasks on the CPU

    def turn(self, task: str) -> bool:
        """Moves a kind of layer to the other device. Keeps the move and returns True if it is faster."""
        here = self.points[task]
        there = ON_DEVICE if here == ON_CPU else ON_CPU
        cost, error, seconds = self.measured({**self.points, task: there})
        # Record both costs at the same state, so that the faster one applies regardless of later moves.
        self.keep(task, here, self.cost)
        self.keep(task, there, cost, error, seconds)
        if cost is None or cost >= self.cost:
            return False
        self.points[task], self.cost = there, cost
        return True

    def measured(self, points: Mapping[str, Point]) -> Measured:
        key = frozenset(task for task, point in points.items() if point == ON_CPU)
        if key not in self.known:
            self.known[key] = self._measure(points)
        return self.known[key]

    def _measure(self, points: Mapping[str, Point]) -> Measured:
        self.done += 1
        begun = time.perf_counter()
        try:
            cost, error = self.cost_of(points), ""
        except DeployError as failed:
            cost, error = None, failed.what
        return cost, error, time.perf_counter() - begun

    def keep(self, task: str, point: Point, cost: int | None, error: str = "", seconds: float = 0.0) -> None:
        setting = self.setting
        self.file.add(
            TuningRecord(
                task=task,
                core=setting.core,
                knobs=point,
                cost=cost,
                default_cost=self.default_cost,
                error=error,
                compiler=setting.compiler,
                board=setting.board,
                unit=setting.unit,
                seconds=round(seconds, 4),
                tool=setting.tool,
                time=setting.now(),
            )
        )


def choose_devices(
    tasks: Sequence[DeviceTask], cost_of: CostOf, file: RecordFile, setting: Setting, most: int
) -> int:
    """Measures up to `most` runs for tasks without records for both devices; returns the number of runs."""
    open_tasks = [task.name for task in tasks if task.is_open]
    if not open_tasks or not most:
        return 0
    known = chosen_devices(file.records, setting)
    points = {task.name: known.get(task.name, ON_DEVICE) for task in tasks}
    default_cost = cost_of({})
    search = _Search(cost_of, file, setting, points, default_cost, default_cost, done=1)
    with progress("choosing devices", len(open_tasks)) as bar:
        _begin(search, is_new=not any(task.measured for task in tasks))
        while _round(search, open_tasks, most, bar.step):
            pass
    return search.done


def _round(search: _Search, tasks: Sequence[str], most: int, on_turn: Callable[[str], None]) -> bool:
    """Tries to move each kind of layer once. Returns whether one was moved, so another round may help."""
    moved = False
    for task in tasks:
        if search.done >= most:
            return False
        on_turn(task)
        moved = search.turn(task) or moved
    return moved


def _begin(search: _Search, is_new: bool) -> None:
    """Starts from earlier results, or from all layers on the CPU if that is faster than on accelerators."""
    points = dict.fromkeys(search.points, ON_CPU) if is_new else search.points
    if ON_CPU not in points.values():
        return
    cost, _, _ = search.measured(points)
    if cost is None or cost >= search.cost:
        return
    search.points, search.cost = dict(points), cost
    if is_new:
        for task in points:
            search.keep(task, ON_CPU, cost)
