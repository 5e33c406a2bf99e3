"""One case, measured as `deploy bench` does: instructions and bytes on the board, cycles by the model."""

from __future__ import annotations

from aot.target import Optimize
from benchmarks.cases import Case
from benchmarks.results import Result
from benchmarks.shared import model_file, shapes_for
from boards.board import Board
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.benchmark.bench_model import BenchChoices
from deploy.benchmark.bench_model import measure as measure_model
from deploy.benchmark.cycle_model import model_cycles
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import prepare_compiled
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.cycles.model import lacks

NOT_TIMED_S = 0.0  # no result tells how long compiling took
MOST_RECORDED = 40_000_000  # instructions: each block of a run is recorded, and held in memory


def measure(case: Case) -> Result:
    options = CompileOptions(optimize=Optimize(case.optimize), shapes=shapes_for(case.model))
    choices = BenchChoices(options, BuildChoices(), LineOptions(), repeat=1, layers=False)
    board = load_board(case.board)
    compiled = compile_for(import_model(model_file(case.model), options), board, options)
    cost = measure_model(prepare_compiled(compiled), NOT_TIMED_S, choices)
    assert cost.count is not None, f"{case.board} does not count instructions"
    assert cost.code_bytes is not None  # it was built here
    return Result(
        model=case.model,
        board=case.board,
        optimize=case.optimize,
        compiler=cost.toolchain,
        macs=cost.macs,
        instructions=cost.count,
        cycles=_cycles(compiled, board) if cost.count <= MOST_RECORDED else None,
        arena_bytes=cost.arena_bytes,
        stack_bytes=cost.stack_bytes,
        code_bytes=cost.code_bytes,
        constants_bytes=cost.constants_bytes,
    )


def _cycles(compiled: Compiled, board: Board) -> int | None:
    """The count by the model, of memory without wait states; None for a core without a table."""
    if lacks(board):
        return None
    return model_cycles(compiled.artifact, board, None, LineOptions(), layers=False).run.count
