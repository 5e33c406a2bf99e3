"""What each level of the compiler costs and brings: instructions of a run and bytes, for the same models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aot.errors import DeployError
from benchmarks.memory import BOARD
from benchmarks.shared import model_file, shapes_for
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.levels import LEVELS
from codegen.options import CompileOptions
from deploy.benchmark.bench_model import BenchChoices, measure_file
from deploy.devices.connection_options import LineOptions
from platforms.base import BuildChoices
from platforms.board_files import load_board

HEAD = (
    f"Models at each optimization level, on {BOARD}: instructions of a run, and bytes of arena,\n"
    "constants and estimated code. Printed by `python -m benchmarks levels`.\n\n"
    "| model | level | instructions | arena | constants | code |\n"
    "| --- | --- | ---: | ---: | ---: | ---: |\n"
)


def level_rows(name: str) -> Iterator[str]:
    """A row for each level; of a model that is not for the board, without instructions."""
    board = load_board(BOARD)
    for level in LEVELS:
        options = CompileOptions(level=level, shapes=shapes_for(name))
        try:
            model = compile_job(read_job(model_file(name), replace(board.target, regions=()), options))
        except DeployError as error:
            yield f"| {name} | -O{level} | {error.what} | | | |\n"
            continue
        choices = BenchChoices(
            options=options, build=BuildChoices(), line=LineOptions(), repeat=1, layers=False
        )
        try:
            count = f"{measure_file(model_file(name), board, choices).count:,}"
        except DeployError:
            count = "no room"
        sizes = model.plan.arena_bytes, model.constants.bytes, model.code_bytes_estimate
        yield f"| {name} | -O{level} | {count} | {' | '.join(f'{each:,}' for each in sizes)} |\n"
