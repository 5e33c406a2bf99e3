"""Selects boards by core, memory and platform, and by whether a model fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from aot.target import BaseFirmware, Target
from artifact.facts import ModelFacts, facts_of
from artifact.report import Report, make_report
from boards.board import Board
from boards.cores import short_name
from codegen.c.arenas import pools_for
from codegen.compile import compile_job
from codegen.fit.transformed_weights import models_share
from codegen.job import ImportedModel
from codegen.kernels.tuning_records import default_points
from codegen.options import CompileOptions
from deploy.cli.console import progress
from deploy.compiler.board_or_target import why_not_its_cores
from deploy.compiler.jobs import job_for

COUNTED = {True: "firmware", False: "model alone"}  # by whether a figure includes the firmware around it


@dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions for a board; None means no condition."""

    core: str | None = None  # for example "m4" or "cortex-m4"
    ram_bytes: int = 0
    flash_bytes: int = 0
    platform: str | None = None

    def suits(self, board: Board) -> bool:
        return (
            self.core in (None, board.core.name, short_name(board.core.name))
            and self.ram_bytes <= board.target.ram_bytes
            and self.flash_bytes <= board.target.flash_bytes
            and self.platform in (None, *board.platforms)
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """A board that the model fits, and the report that proves it."""

    board: Board
    report: Report


def fitting(boards: Sequence[Board], model: ImportedModel, options: CompileOptions) -> list[Fit]:
    """Returns the boards with enough memory and cores for the model, with the report of `deploy inspect`.

    The model is compiled once per kind of target, and again for boards whose memory affects the plan.
    """
    kinds: dict[Target, list[Board]] = {}
    for board in boards:
        if why_not_its_cores(board, options):
            continue
        kinds.setdefault(_kind(board.target, options), []).append(board)
    found: dict[str, Fit] = {}
    with progress(f"compiling {model.source_name}", len(kinds)) as bar:
        for kind, alike in kinds.items():
            bar.step(", ".join(sorted(kind.features)) or "plain")
            found |= {fit.board.name: fit for fit in _fitting_of(kind, alike, model, options)}
    return [found[board.name] for board in boards if board.name in found]


def _kind(target: Target, options: CompileOptions) -> Target:
    """Returns what affects the code of a target: no addresses, and the core only if tuned for it."""
    is_measured = bool(default_points(target.core, options.optimize)) or options.tuning_records is not None
    return replace(target, core=target.core if is_measured else "", regions=())


def _fitting_of(
    kind: Target, boards: Sequence[Board], model: ImportedModel, options: CompileOptions
) -> Iterator[Fit]:
    """Yields fitting boards of one kind, the largest memory first: if that fails, all smaller ones do."""
    anywhere = _facts(kind, model, options)
    too_little: Counter[bool] = Counter()  # contiguous RAM that was too small, by whether firmware is counted
    for board in sorted(boards, key=lambda board: -_largest_ram(board.target)):
        report = make_report(anywhere, board.target, board.base_firmware)
        if not _has_room(report, board.target):
            counts = board.base_firmware is not None
            if board.target.ram_bytes <= too_little[counts]:
                continue
            facts = _facts(board.target, model, options, board.base_firmware)
            report = make_report(facts, firmware=board.base_firmware)
            if report.lacks("ram"):
                too_little[counts] = max(too_little[counts], _largest_ram(board.target))
        if report.fits:
            yield Fit(board, report)


def _facts(
    target: Target, model: ImportedModel, options: CompileOptions, firmware: BaseFirmware | None = None
) -> ModelFacts:
    job, _ = job_for(model, target, options, firmware=firmware)
    return facts_of(compile_job(job))


def _has_room(report: Report, target: Target) -> bool:
    """Returns whether the model fits so easily that the search for a plan would ignore the memory."""
    facts, share = report.facts, models_share(target)
    is_small = share is None or facts.constants_bytes + facts.code_bytes_estimate <= share
    return is_small and not report.lacks("ram") and not pools_for(target, facts.arena_bytes)


def _largest_ram(target: Target) -> int:
    return max((region.bytes for region in target.by_speed("ram")), default=0)
