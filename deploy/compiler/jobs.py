"""Creates jobs from a user's model, options and target, and finds options that make a model fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aot.errors import DeployError, FitError, ToolError
from aot.target import BaseFirmware, Optimize, Target
from artifact.facts import facts_of
from artifact.report import make_report
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.knobs import NOT_TUNED
from codegen.options import CompileOptions
from deploy.cli.console import progress

if TYPE_CHECKING:
    from codegen.kernels.tuning_records import Selection


# Selects tuning records for a target and the local compiler for it.


def select_records(options: CompileOptions, target: Target) -> Selection | None:
    """Selects the records for the target, or returns None if no records are given."""
    if options.tuning_records is None:
        return None
    from codegen.kernels.tuning_records import read_records, select

    return select(read_records(options.tuning_records), target.core, _compiler(target), options.optimize)


def _compiler(target: Target) -> str:
    """Returns the compiler that a local build uses; records of other compilers do not apply."""
    from platforms.toolchains import find_toolchain

    try:
        return str(find_toolchain(target))
    except ToolError:
        return ""


# Reports inputs whose batch size a file leaves open; it is set to 1.


def open_batch_lines(model: ImportedModel) -> list[str]:
    return [
        f'  batch      the file leaves the batch of "{name}" open: 1 is used (--shape sets all sizes)'
        for name in model.open_batches
    ]


# Options to suggest by exceeded memory. --optimize ram is not needed, because each job falls back to it.
_OTHER_OPTIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ram": {"--stream": {"stream": True}},
    "flash": {"--optimize size": {"optimize": Optimize.SIZE}},
}


def job_for(
    model: ImportedModel,
    target: Target,
    options: CompileOptions,
    board: str = "",
    firmware: BaseFirmware | None = None,
) -> tuple[Job, Selection | None]:
    """Returns the job and the selected tuning records, if the options name some."""
    selection = select_records(options, target)
    tuned = selection.points if selection else NOT_TUNED
    return Job(model, target, options, tuned, board, firmware), selection


def compile_or_explain(job: Job) -> CompiledModel:
    """Compiles a job. Raises ModelError, or FitError with options that would make the model fit."""
    try:
        with progress("compiling", 1) as bar:
            bar.step(job.model.source_name)
            return compile_job(job)
    except FitError as error:
        hints = [*memory_hints(job, "ram"), error.hint]
        raise FitError(error.what, error.where, "\n".join(hint for hint in hints if hint)) from None


def memory_hints(job: Job, role: str, missing_bytes: int = 0) -> list[str]:
    """Returns options that make the model fit if memory of this role is exceeded; each has been tried."""
    graph = job.model.graph
    if role == "ram" and missing_bytes > sum(graph.types[value].bytes for value in graph.inputs):
        return []  # --stream keeps inputs out of the arena and saves nothing else
    return [
        f"{flags} makes it fit"
        for flags, values in _OTHER_OPTIONS[role].items()
        if _fits(replace(job, options=replace(job.options, **values)))
    ]


def _fits(job: Job) -> bool:
    try:
        return make_report(facts_of(compile_job(job)), firmware=job.firmware).fits
    except DeployError:  # for example, an input that cannot be streamed
        return False
