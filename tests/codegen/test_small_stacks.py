"""Small models' stack is told before there is a compiler: never below what was painted, nor far above it.

Each was built and run once by `deploy bench`'s firmware; a model of one operator shows a part of the estimate
that in a whole model is hidden beneath a hungrier layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from drawing import Draw
from one_op_models import MAKERS
from tflite_builder import ModelBuilder
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.target import Feature, Optimize, Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from platforms.board_files import load_board

MOST_TIMES_THE_STACK = 1.5


@dataclass(frozen=True)
class Painted:
    """A model, how it was built, and the stack that a run took on the board."""

    board: str
    bytes: int
    seed: tuple[int, ...] | int = ()  # that its one operator was drawn with; none: a model of tiny_models.py
    optimize: Optimize = Optimize.SPEED
    cores: int = 1
    has_fpu: bool = True

    @property
    def target(self) -> Target:
        target = load_board(self.board).target
        return target if self.has_fpu else replace(target, features=target.features - {Feature.FPU})


# By gcc 12.2; the angles of COS were a million times what is drawn.
PAINTED = {
    "LOG_SOFTMAX": Painted("mps3-an547", 175, (0, 31, 0)),  # calls a function of its own
    "CONV_2D": Painted("mps3-an547", 267, (0, 51, 0), optimize=Optimize.SIZE),
    "DEPTHWISE_CONV_2D": Painted("mps3-an547", 303, (0, 53, 1)),  # one layer of it has two rows
    "COS": Painted("mps2-an386", 587, (0, 21, 0)),
    "SIN": Painted("qemu-riscv32", 779, (0, 37, 0)),
    "LOGISTIC": Painted("mps2-an386", 167, (0, 30, 0), has_fpu=False),
    "DIV": Painted("mps3-an547", 199, 0, has_fpu=False),
    "conv": Painted("mps2-an521", 283, cores=2),  # a half is handed to the other core
}


@pytest.mark.parametrize("name", PAINTED)
def test_the_stack_of_a_small_model_is_told(name: str) -> None:
    painted = PAINTED[name]
    data = MAKERS[name](drawn(name, painted)) if painted.seed != () else TINY[name]()
    graph = parse_model(data, f"{name}.tflite", "litert-ref")
    options = CompileOptions(optimize=painted.optimize, cores=painted.cores)
    told = compile_job(Job(ImportedModel(graph, name, "00" * 32, name.lower()), painted.target, options))
    assert painted.bytes <= told.stack_bytes_estimate <= MOST_TIMES_THE_STACK * painted.bytes


def drawn(name: str, painted: Painted) -> Draw:
    return Draw(np.random.default_rng(painted.seed), ModelBuilder(name))
