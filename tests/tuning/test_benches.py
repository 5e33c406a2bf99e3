"""Candidates are measured on an emulated board, in an image or loaded; a bad one costs only itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from graphs import GRAPHS

import deploy.demo
from codegen.fit.plan_job import plan_job
from codegen.job import ImportedModel, Job, read_job
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Instruction, Invoke
from codegen.options import CompileOptions
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.rpc.messages import Slot
from platforms.rpc.session import Session
from platforms.tuning.image_bench import ImageBench
from platforms.tuning.loaded_bench import LoadedBench
from platforms.tuning.tasks import Experiment, Task, experiment_of, tasks_of
from platforms.tuning.trial import Candidate, Failure, MeasureChoices, Outcome

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
BOARD = load_board("mps2-an386")
CHOICES = MeasureChoices(number=2, repeat=3, timeout_s=5.0)
BENCHES = {"image": ImageBench, "loaded": LoadedBench}

pytestmark = [pytest.mark.arm, pytest.mark.qemu, pytest.mark.slow]


@dataclass(frozen=True)
class Trial:
    task: Task
    experiment: Experiment

    @property
    def good(self) -> Kernel:
        return self.task.kernel(self.task.space.default)

    def spoiled(self, c: str, after: bool = False) -> Kernel:
        """The good kernel with a piece of C before it, or after."""
        bad = (Invoke(Instruction("bad", (), (), c.replace("{", "{{").replace("}", "}}"), ""), ()),)
        body = self.good.proc.body
        return replace(self.good, proc=replace(self.good.proc, body=body + bad if after else bad + body))


@pytest.fixture(scope="module")
def trial():
    planned = plan_job(read_job(DIGITS, BOARD.target, CompileOptions()))
    task, graph = tasks_of(planned)[0], planned.graph
    rng = np.random.default_rng(4)
    inputs = {v: rng.integers(-128, 128, graph.types[v].shape).astype(np.int8) for v in graph.inputs}
    return Trial(task, experiment_of(task, planned, inputs))


@pytest.fixture
def measure(trial, tmp_path):

    def run(name: str, kernels: Sequence[Kernel]) -> list[Outcome]:
        bench = BENCHES[name](BOARD, platform_of(BOARD), tmp_path, CHOICES)  # type: ignore[arg-type]
        try:
            return bench.measure(trial.task, trial.experiment, [Candidate({}, k) for k in kernels])
        finally:
            bench.close()

    return run


def test_a_convolution_that_makes_a_sum_is_measured(tmp_path):
    graph = GRAPHS["residual"]()
    planned = plan_job(Job(ImportedModel(graph, "residual", "", "residual"), BOARD.target, CompileOptions()))
    task = next(task for task in tasks_of(planned) if task.op == "conv2d+add")
    inputs = {"x": np.random.default_rng(5).integers(-128, 128, graph.types["x"].shape).astype(np.int8)}
    bench = ImageBench(BOARD, platform_of(BOARD), tmp_path, CHOICES)  # type: ignore[arg-type]
    candidate = Candidate({}, task.kernel(task.space.default))
    (outcome,) = bench.measure(task, experiment_of(task, planned, inputs), [candidate])
    bench.close()
    assert outcome.ticks


@pytest.mark.parametrize("name", BENCHES)
def test_every_bad_candidate_is_named_and_the_good_ones_are_measured(name, trial, measure):
    bad = {
        Failure.CRASH: trial.spoiled("*(volatile uint32_t *)0xF0000000u = 1;"),
        Failure.HANG: trial.spoiled('for (;;) { __asm__ volatile("nop"); }'),
        Failure.CORRUPTION: trial.spoiled("((volatile int8_t *)y)[-4] = 1;"),
        Failure.WRONG: trial.spoiled("((volatile int8_t *)y)[0] ^= 1;", after=True),
        Failure.BUILD: trial.spoiled("not C at all;"),
    }
    kernels = [trial.good, *(kernel for each in bad.values() for kernel in (each, trial.good))]
    outcomes = measure(name, kernels)
    assert [outcome.failure for outcome in outcomes[1::2]] == list(bad)
    good = [outcome.ticks for outcome in outcomes[::2]]
    assert all(len(ticks) == CHOICES.repeat for ticks in good)
    counts = {BOARD.counter.instructions(t) for ticks in good for t in ticks}
    assert max(counts) - min(counts) <= 2  # of some thousands: the same code, called from other places


def test_code_that_writes_into_the_firmware_is_caught(trial, measure):
    eats = trial.spoiled(
        "for (uint32_t at = 0x20003000u; at < 0x20003100u; at += 4) { *(volatile uint32_t *)at ^= 0x55u; }"
    )
    eaten, good = measure("loaded", [eats, trial.good])
    # What lay there decides which: a spoiled constant is seen by the checksum, a spoiled pointer crashes, a
    # spoiled counter keeps a loop going until the deadline. A time for it would be the one wrong answer.
    assert eaten.failure in (Failure.CORRUPTION, Failure.CRASH, Failure.HANG)
    assert good.ticks


def test_where_memory_is_too_small_for_one_candidate_it_gets_an_image(trial, measure, monkeypatch):
    monkeypatch.setattr(Session, "slot", lambda _session: Slot(0x20100000, 64, 32))
    outcomes = measure("loaded", [trial.good, trial.good])
    assert [len(outcome.ticks) for outcome in outcomes] == [CHOICES.repeat] * 2


def test_both_ways_count_the_same(trial, measure):
    (in_image,), (loaded,) = (measure(name, [trial.good]) for name in BENCHES)
    assert len({BOARD.counter.instructions(t) for t in (*in_image.ticks, *loaded.ticks)}) == 1


@pytest.mark.parametrize("name", BENCHES)
def test_every_point_of_a_space_computes_the_same(name, trial, measure):
    points = trial.task.space.points[:: 4 if name == "image" else 12]
    outcomes = measure(name, [trial.task.kernel(point) for point in points])
    assert [outcome.error for outcome in outcomes] == [""] * len(points)
