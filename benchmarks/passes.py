"""What each pass brings: models with one pass, or all, left out, against the same models with all passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aot.errors import DeployError
from aot.passes import REQUIRED
from benchmarks.memory import BOARD
from benchmarks.shared import model_file, shapes_for
from boards.board import Board
from codegen.compile import CompiledModel, compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from deploy.benchmark.bench_model import BenchChoices, measure_file
from deploy.devices.connection_options import LineOptions
from platforms.base import BuildChoices
from platforms.board_files import load_board

HEAD = (
    f"The effect of each pass: how much more or less models need on {BOARD} without it, or without all\n"
    "optional passes. Columns: instructions of a run, bytes of arena, constants and estimated code,\n"
    "and multiplications. Passes that rewrite nothing are not shown. Printed by `python -m benchmarks\n"
    "passes`.\n\n"
    "| model | without | instructions | arena | constants | code | MACs |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
)


def pass_rows(name: str) -> Iterator[str]:
    """A row for each pass that rewrites something in the model; none for a model that cannot be compiled."""
    board = load_board(BOARD)
    target = replace(board.target, regions=())
    try:
        job = read_job(model_file(name), target, CompileOptions(shapes=shapes_for(name)))
        model = compile_job(job)
    except DeployError:
        return
    rewriting = (step.what.name for step in model.planned.steps if step.after is not step.before)
    names = [each for each in rewriting if each not in REQUIRED]
    instructions = _instructions(name, board, job.options) if names else None
    for without in [(each,) for each in names] + ([tuple(names)] if len(names) > 1 else []):
        options = replace(job.options, disabled_passes=without)
        try:
            made = compile_job(replace(job, options=options))
        except DeployError:  # some model needs what a pass does
            yield f"| {name} | {_describe(without)} | does not compile | | | | |\n"
            continue
        counts = zip(_counts(made), _counts(model), strict=True)
        less = _instructions(name, board, options)
        changed = f"{less - instructions:+,}" if less is not None and instructions is not None else ""
        sizes = " | ".join(f"{less - all_:+,}" for less, all_ in counts)
        yield f"| {name} | {_describe(without)} | {changed} | {sizes} |\n"


def _describe(without: Sequence[str]) -> str:
    return without[0] if len(without) == 1 else f"all {len(without)}"


def _instructions(name: str, board: Board, options: CompileOptions) -> int | None:
    """The instructions of a run; None of a model that is not for the board."""
    choices = BenchChoices(options, BuildChoices(), LineOptions(), repeat=1, layers=False)
    try:
        return measure_file(model_file(name), board, choices).count
    except DeployError:
        return None


def _counts(model: CompiledModel) -> tuple[int, int, int, int]:
    macs = sum(layer.macs for layer in model.layers)
    return model.plan.arena_bytes, model.constants.bytes, model.code_bytes_estimate, macs
