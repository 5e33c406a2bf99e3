"""A search may begin with what was best for kernels of the same kind, of other shapes and on other boards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import deploy.demo
from aot.target import Optimize
from codegen.job import read_job
from codegen.kernels.knobs import Point
from codegen.kernels.tuning_records import TuningRecord
from codegen.options import CompileOptions
from deploy.tuner.tune_model import TuneChoices, begin
from platforms.board_files import load_board

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
SIZE = CompileOptions(optimize=Optimize.SIZE)  # rows of 16 bits: a space in which chance finds little
BEST = {"pixels": 1, "channels": 4, "unroll": 2, "weight_bits": 16, "blocks": 1}
SECOND = BEST | {"channels": 2}
IMPOSSIBLE = BEST | {"pixels": 3, "channels": 6}
SLOWER = BEST | {"channels": 1}


def _record(task: str, knobs: Point, cost: int) -> TuningRecord:
    return TuningRecord(task, "cortex-m7", knobs, cost, 1000, board="nucleo-h743zi")


@pytest.mark.arm
def test_the_best_points_of_the_kind_go_first(
    require_tool: Callable[..., None], own_folders: None, tmp_path: Path
) -> None:
    require_tool("arm-none-eabi-gcc")
    records = (
        _record("conv2d_1x1_99_to_99_by_9 step 99 i16", SECOND, 900),
        _record("conv2d_1x1_99_to_99_by_9 step 99 i16", IMPOSSIBLE, 100),
        _record("conv2d_1x1_99_to_99_by_9 step 99 i16", SLOWER, 1100),
        _record("conv2d_5x5_7_to_7_by_7 step 7 i16", BEST, 800),
        _record("dense_5_to_5 i16", BEST | {"unroll": 1}, 1),
    )
    prior = tmp_path / "prior.jsonl"
    prior.write_text("".join(record.as_line() for record in records))
    choices = TuneChoices(prior=prior, tuner="random", tasks="1")
    board = load_board("mps2-an386")
    (task,) = begin(read_job(DIGITS, board.target, SIZE), board, choices, ()).searches
    assert task.task.name == "conv2d_1x1_8_to_24_by_8 step 8 i16"
    first = task.tuner.propose(3)
    assert first[:2] == [BEST, SECOND]
    assert first[2] not in (IMPOSSIBLE, SLOWER)
