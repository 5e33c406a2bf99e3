"""What each pass brings: models compiled with one pass left out, against the same models with all passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aot.errors import DeployError
from aot.passes import REQUIRED
from benchmarks.memory import BOARD
from benchmarks.shared import model_file, shapes_for
from codegen.compile import compile_job
from codegen.job import Job, read_job
from codegen.model import CompiledModel
from codegen.options import CompileOptions
from platforms.board_files import load_board

HEAD = (
    f"Bytes on {BOARD} that models take more, or less, where one pass is left out: of the arena, of\n"
    "constants, of code as it is estimated; and multiplications. Passes that rewrite nothing are not shown;\n"
    "what they bring in instructions is not measured. Printed by `python -m benchmarks passes`.\n\n"
    "| model | without | arena | constants | code | MACs |\n"
    "| --- | --- | ---: | ---: | ---: | ---: |\n"
)


def pass_rows(name: str) -> Iterator[str]:
    """A row for each pass that rewrites something in the model; none for a model that cannot be compiled."""
    target = replace(load_board(BOARD).target, regions=())
    try:
        job = read_job(model_file(name), target, CompileOptions(shapes=shapes_for(name)))
        model = compile_job(job)
    except DeployError:
        return
    rewriting = (step.what.name for step in model.steps if step.after is not step.before)
    for without in (each for each in rewriting if each not in REQUIRED):
        counts = zip(_counts(_compiled_without(job, without)), _counts(model), strict=True)
        yield f"| {name} | {without} | {' | '.join(f'{less - all_:+,}' for less, all_ in counts)} |\n"


def _compiled_without(job: Job, name: str) -> CompiledModel:
    return compile_job(replace(job, options=replace(job.options, disabled_passes=(name,))))


def _counts(model: CompiledModel) -> tuple[int, int, int, int]:
    macs = sum(layer.macs for layer in model.layers)
    return model.plan.arena_bytes, model.constants_bytes, model.code_bytes_estimate, macs
