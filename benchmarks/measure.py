"""One case, measured as `deploy bench` does."""

from __future__ import annotations

from aot.target import Optimize
from benchmarks.cases import Case
from benchmarks.results import Result
from benchmarks.shared import model_file, shapes_for
from codegen.options import CompileOptions
from deploy.benching import BenchChoices, measure_cost
from deploy.line import LineOptions
from platforms.board_files import load_board


def measure(case: Case) -> Result:
    choices = BenchChoices(
        options=CompileOptions(optimize=Optimize(case.optimize), shapes=shapes_for(case.model)),
        toolchain=None,
        line=LineOptions(),
        repeat=1,
        layers=False,
    )
    cost = measure_cost(model_file(case.model), load_board(case.board), choices)
    assert cost.count is not None, f"{case.board} does not count instructions"
    return Result(
        model=case.model,
        board=case.board,
        optimize=case.optimize,
        compiler=cost.toolchain,
        macs=cost.macs,
        instructions=cost.count,
        arena_bytes=cost.arena_bytes,
        stack_bytes=cost.stack_bytes,
        code_bytes=cost.code_bytes,
        constants_bytes=cost.constants_bytes,
    )
