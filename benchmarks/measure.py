"""One case, measured as `deploy bench` does."""

from __future__ import annotations

from aot.target import Optimize
from benchmarks.cases import Case
from benchmarks.results import Result
from benchmarks.shared import given_for, model_file
from boards.load import load_board
from codegen.model import CompileOptions
from deploy.benching import BenchChoices, measure_cost
from deploy.line import LineChoices


def measure(case: Case) -> Result:
    choices = BenchChoices(
        options=CompileOptions(optimize=Optimize(case.optimize), given=given_for(case.model)),
        toolchain=None,
        line=LineChoices(),
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
