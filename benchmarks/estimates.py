"""What `deploy inspect` estimates of code and stack, against what builds take (results.json).

The code of a build includes the startup of the smallest firmware, so that of the estimate does here, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from aot.target import Optimize
from benchmarks.results import Result, read_results
from benchmarks.shared import model_file, shapes_for
from codegen.c.part_sizes import startup_bytes
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board

HEAD = (
    "Code and stack: the estimate of `deploy inspect`, and the measured size in firmware. Printed by\n"
    "`python -m benchmarks estimates`.\n\n"
    "| model | board | for | code, estimated | code | times | stack, estimated | painted | times |\n"
    "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)


def estimate_rows(name: str) -> Iterator[str]:
    """A row for each case of the model."""
    for result in read_results():
        if result.model == name:
            yield _row(result)


def _row(result: Result) -> str:
    options = CompileOptions(optimize=Optimize(result.optimize), shapes=shapes_for(result.model))
    job = read_job(model_file(result.model), load_board(result.board).target, options)
    model = compile_job(job)
    code, stack = model.code_bytes_estimate + startup_bytes(model.target), model.planned.stack_bytes
    assert result.stack_bytes is not None, f"{result.board} paints its stack"
    return (
        f"| {result.model} | {result.board} | {result.optimize} "
        f"| {code:,} | {result.code_bytes:,} | {code / result.code_bytes:.2f} "
        f"| {stack:,} | {result.stack_bytes:,} | {stack / result.stack_bytes:.2f} |\n"
    )
