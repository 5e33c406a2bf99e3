"""Candidates are the code that a model would have, no better: their constants are known by address only."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import deploy.demo
from aot.target import Optimize
from codegen.fit.plan_job import plan_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board
from platforms.tuning.candidates import batch_of
from platforms.tuning.tasks import experiment_of, tasks_of
from platforms.tuning.trial import MeasureChoices

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
TASK = "conv2d_3x3_1_to_8_by_8 step 1 i16"
SIZE = CompileOptions(optimize=Optimize.SIZE)  # whose rows are of 16 bits, so that weights may be, too
# Written out for all channels: each bias is read at a place that is known.
POINTS = (
    {"pixels": 1, "channels": 5, "unroll": 3, "weight_bits": 16, "blocks": 1},
    {"pixels": 1, "channels": 4, "unroll": 3, "weight_bits": 8, "blocks": 1},
)


@pytest.fixture(scope="module")
def batch():
    planned = plan_job(read_job(DIGITS, load_board("mps2-an386").target, SIZE))
    (task,) = [task for task in tasks_of(planned) if task.name == TASK]
    inputs = {v: np.zeros(planned.graph.types[v].shape, np.int8) for v in planned.graph.inputs}
    experiment = experiment_of(task, planned, inputs)
    kernels = [task.kernel(point) for point in POINTS]
    return batch_of(task, experiment, kernels, MeasureChoices(number=1, repeat=1, timeout_s=1.0), len(POINTS))


def constants_of(part: str) -> list[str]:
    return re.findall(r"^CONSTANT const \w+ (\w+)\[", part, re.MULTILINE)


@pytest.mark.slow
def test_parts_of_a_batch_have_constants_of_their_own(batch):
    """They are linked into one image."""
    first, second = (set(constants_of(part)) for part in batch.parts)
    assert first
    assert second
    assert not first & second


@pytest.mark.arm
def test_what_constants_hold_is_not_compiled_into_a_candidate(batch, tmp_path):
    (tmp_path / "tuning.h").write_text(batch.header)
    for part in batch.parts:
        (tmp_path / "part.c").write_text(part)
        argv = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-std=c99", "-O2", "-S", "part.c", "-o", "part.s"]
        subprocess.run(argv, cwd=tmp_path, check=True)
        assembly = (tmp_path / "part.s").read_text()
        read = set(re.findall(r"(?:#:lower16:|\.word\t)(\w+)", assembly))
        assert set(constants_of(part)) <= read
