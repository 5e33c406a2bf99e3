"""`python -m deploy.demo` runs the included model on an emulated Cortex-M4 and this computer.

With --copy it only copies the model, samples and labels into the current folder. The model classifies
handwritten digits. tests/models/make_digits.py trained it, without these samples.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.errors import DeployError
from aot.ir.graph import Graph
from aot.ir.types import Array
from boards.board import Board
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.benchmark.bench_model import BenchChoices, BoardCost, measure_file
from deploy.benchmark.meter import Meter
from deploy.benchmark.run_series import Measured, run_series
from deploy.cli.console import table
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build, prepare_compiled
from deploy.devices.session import open_device
from deploy.inputs.samples import Samples, read_samples
from deploy.verification.compare_layers import differences, reference_outputs
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.runners.runner import choose_runner

HERE = Path(__file__).parent
MODEL = HERE / "digits.tflite"
FILES = ("digits.tflite", "digits_test.npz", "digits_labels.npy")
BOARDS = ("mps2-an386", "host")


@dataclass(frozen=True, slots=True)
class Trial:
    """The demo's results on one board."""

    cost: BoardCost
    runner: str
    samples: int
    right: int  # correctly classified samples
    equal: bool  # all outputs match the reference bit for bit

    @property
    def cells(self) -> tuple[str, ...]:
        cost, meter = self.cost, Meter(self.cost.board)
        costs = [f"{cost.count:,} {meter.unit}"] if cost.count is not None else []
        costs += [f"{cost.time_s * 1e3:.3f} ms"] if cost.time_s is not None else []
        stack = f", {cost.stack_bytes:,} of stack" if cost.stack_bytes is not None else ""
        return (
            cost.toolchain,
            self.runner,
            f"{self.right / self.samples:.1%} of {self.samples} digits".replace("%", " %"),
            "in every bit" if self.equal else "NO",
            f"{cost.arena_bytes:,} bytes of arena{stack}",
            f"{cost.code_bytes:,} bytes of code, {cost.constants_bytes:,} of constants",
            ", ".join(costs),
        )


HEADS = ("compiler", "runs in", "right", "equal to the reference", "RAM", "flash", "time per digit")


def main(words: Sequence[str] = ()) -> int:
    """Returns exit status 0 if every board computes the reference's results."""
    parser = argparse.ArgumentParser("python -m deploy.demo", description="Run the included model")
    parser.add_argument("--copy", action="store_true", help=f"only copy {', '.join(FILES)} to this folder")
    if parser.parse_args(words).copy:
        for name in FILES:
            shutil.copy(HERE / name, name)
        print(f"copied {', '.join(FILES)}")
        return 0
    try:
        trials = [try_board(load_board(name)) for name in BOARDS]
    except DeployError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{MODEL.name}: handwritten digits, int8; {trials[0].cost.macs:,} multiplications each\n")
    print("\n\n".join(page(trial) for trial in trials))
    return 0 if all(trial.equal for trial in trials) else 1


def page(trial: Trial) -> str:
    rows = [(f"  {head}", cell) for head, cell in zip(HEADS, trial.cells, strict=True)]
    return table((trial.cost.board.name, trial.cost.board.title), rows)


def try_board(board: Board) -> Trial:
    """Compiles, builds and runs, with the same steps as the commands of `deploy`."""
    compiled = compile_for(import_model(MODEL, CompileOptions()), board, CompileOptions())
    ready = build(prepare_compiled(compiled), BuildChoices())
    with open_device(ready, LineOptions()) as device:
        samples = read_samples(HERE / "digits_test.npz", device.model.inputs)
        measured = run_series(device, samples, title=f"running on {board.name}")
    choices = BenchChoices(CompileOptions(), BuildChoices(), LineOptions(), repeat=1, layers=False)
    return Trial(
        cost=measure_file(MODEL, board, choices),
        runner=choose_runner(board),
        samples=len(samples),
        right=count_right(measured, np.load(HERE / "digits_labels.npy")),
        equal=is_equal(compiled.job.model.graph, measured, samples),
    )


def count_right(measured: Measured, labels: Array) -> int:
    answers = [int(np.argmax(scores)) for (scores,) in measured.outputs]
    return int(np.sum(np.array(answers) == labels))


def is_equal(graph: Graph, measured: Measured, samples: Samples) -> bool:
    expected = reference_outputs(graph, samples)
    return not differences(expected, measured.outputs, measured.specs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
