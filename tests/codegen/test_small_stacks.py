"""Small models' stack and code are estimated before there is a compiler: no stack below what was painted.

Each was built and run once by `deploy bench`'s firmware; a model of one operator shows a part of the estimate
that in a whole model is hidden beneath a hungrier layer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from drawing import Draw
from element_makers import plain_pair
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
PART_OF_CODE = 0.15


@dataclass(frozen=True)
class Painted:
    """A model, how it was built, and the stack that a run took on the board."""

    board: str
    bytes: int
    seed: tuple[int, ...] | int = ()  # that its one operator was drawn with; none: a model of tiny_models.py
    optimize: Optimize = Optimize.SPEED
    cores: int = 1
    has_fpu: bool = True
    code_bytes: int = 0  # of firmware that only runs the model; 0: it was not looked at

    @property
    def target(self) -> Target:
        target = load_board(self.board).target
        return target if self.has_fpu else replace(target, features=target.features - {Feature.FPU})


# By gcc 12.2; the angles of COS were a million times what is drawn, and what functions of reals got had
# infinities and the smallest numbers in it, too.
PAINTED = (
    ("LOG_SOFTMAX", Painted("mps3-an547", 175, (0, 31, 0))),  # calls a function of its own
    ("CONV_2D", Painted("mps3-an547", 267, (0, 51, 0), optimize=Optimize.SIZE)),
    ("DEPTHWISE_CONV_2D", Painted("mps3-an547", 303, (0, 53, 1))),  # one layer of it has two rows
    ("COS", Painted("mps2-an386", 587, (0, 21, 0))),
    ("COS", Painted("mps2-an386", 595, (0, 21, 2), code_bytes=5296)),
    ("SIN", Painted("qemu-riscv32", 779, (0, 37, 0))),
    ("LOGISTIC", Painted("mps2-an386", 167, (0, 30, 0), has_fpu=False, code_bytes=3324)),
    ("DIV", Painted("mps3-an547", 199, 0, has_fpu=False)),
    ("conv", Painted("mps2-an521", 283, cores=2)),  # a half is handed to the other core
    ("LOG", Painted("qemu-microbit", 223, (0, 29, 1), code_bytes=7136)),
    ("POW", Painted("qemu-microbit", 271, (0, 0, 1), code_bytes=9180)),
    ("FLOOR", Painted("qemu-microbit", 207, (0, 24, 1), optimize=Optimize.SIZE)),  # calls no other function
    ("GELU", Painted("qemu-microbit", 247, (0, 25, 7), optimize=Optimize.SIZE)),
    ("LOG_SOFTMAX", Painted("mps2-an385", 223, (0, 31, 2), code_bytes=4088)),
    ("CEIL", Painted("mps2-an385", 183, (0, 20, 1), optimize=Optimize.SIZE)),
    ("LOG", Painted("qemu-riscv32", 299, (0, 29, 0))),
    ("GELU", Painted("qemu-riscv32", 347, (0, 25, 7))),
    ("GELU", Painted("qemu-riscv32", 363, (0, 25, 7), optimize=Optimize.SIZE)),
    ("POW", Painted("qemu-riscv32", 347, (0, 0, 1), code_bytes=7896)),
    ("ELU", Painted("mps2-an386", 119, (0, 22, 2), code_bytes=1952)),
    ("POW", Painted("mps2-an386", 207, (0, 0, 1), code_bytes=3636)),
    ("FLOOR_DIV", Painted("mps2-an386", 179, (0, 8, 1), code_bytes=3884)),  # divides doubles
    ("DIV", Painted("mps2-an386", 175, (0, 3, 1), has_fpu=False)),
    ("SOFTMAX", Painted("mps2-an386", 207, (0, 38, 3), has_fpu=False)),
)
_MAKERS = {**MAKERS, "POW": plain_pair("POW", "PowOptions", "float32")}


@pytest.mark.parametrize(("name", "painted"), PAINTED, ids=lambda each: getattr(each, "board", each))
def test_stack_and_code_of_a_small_model_are_reported(name: str, painted: Painted) -> None:
    data = _MAKERS[name](drawn(name, painted)) if painted.seed != () else TINY[name]()
    graph = parse_model(data, f"{name}.tflite", "litert-ref")
    options = CompileOptions(optimize=painted.optimize, cores=painted.cores)
    told = compile_job(Job(ImportedModel(graph, name, "00" * 32, name.lower()), painted.target, options))
    assert painted.bytes <= told.stack_bytes_estimate <= MOST_TIMES_THE_STACK * painted.bytes
    if painted.code_bytes:
        assert told.code_bytes_estimate == pytest.approx(painted.code_bytes, rel=PART_OF_CODE)


def drawn(name: str, painted: Painted) -> Draw:
    return Draw(np.random.default_rng(painted.seed), ModelBuilder(name))
