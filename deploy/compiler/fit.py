"""Rejects, before building, a model that does not fit its board or is for another core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aot.errors import BoardError, FitError
from aot.target import Optimize, Target
from artifact.facts import ModelFacts
from artifact.report import Report
from codegen.fit.memory_use import MemoryUse
from codegen.job import Job
from deploy.compiler.jobs import memory_hints

if TYPE_CHECKING:
    from boards.board import Board

_MOST_SHOWN = 3
_NAMES = {"ram": "RAM", "flash": "flash"}


def role_name(role: str) -> str:
    """Returns the name of a role for messages: RAM, flash."""
    return _NAMES[role]


def require_fit(report: Report, board: Board, job: Job | None = None) -> None:
    """Raises FitError with the need, the limit, the largest part, and a fix.

    Without a job, as for an archive, the hint is to recompile. With --force, estimates do not cause errors.
    """
    for use in report.memory:
        may_fit = use.fits_but_for_estimates and report.facts.options.force
        if not (use.fits or may_fit):
            raise _does_not_fit(report, board, use, job)


def _does_not_fit(report: Report, board: Board, use: MemoryUse, job: Job | None) -> FitError:
    role, region, name = role_name(use.region.role), use.region, report.facts.source_name
    parts = ", ".join(f"{name} {size:,}" for name, size in use.parts)
    is_least = role == "RAM" and report.facts.options.optimize is Optimize.RAM
    needed = "smallest plan (--optimize ram)" if is_least else "needed"
    is_estimate = use.fits_but_for_estimates
    where = [f"{needed}: {parts}", *(_peak(report) if role == "RAM" else ())]
    if job is None:
        with_room = f"deploy boards list --fits {name}   lists boards with enough memory"
        hints = [*_recompiled(report.facts, board), with_room]
    else:
        hints = [
            *memory_hints(job, use.region.role, use.needed_bytes - region.bytes),
            *(["--force continues: the linker then decides whether it fits"] if is_estimate else []),
            f"deploy inspect {name} {board.option} --memory   shows each buffer",
            f"deploy boards list --fits {name}   lists boards with enough memory",
        ]
    needs = "firmware with the model needs" if use.counts_firmware else "the model needs"
    return FitError(
        f"{needs} {'about ' if is_estimate else ''}{use.needed_bytes:,} bytes of {role}, "
        f"{region.name} of {board.name} has {region.bytes:,}: "
        f"{use.needed_bytes - region.bytes:,} missing",
        "\n".join(where),
        "\n".join(hints),
    )


def _recompiled(facts: ModelFacts, board: Board) -> list[str]:
    """Returns the commands that may make an archive fit, except options it was compiled with."""
    compiled = f"deploy compile {facts.source_name} {board.option}"
    if facts.board != board.name:
        return [f"{compiled} -o OUT.tar   compiles it for this board"]
    untried = {
        "--optimize ram": facts.options.optimize is not Optimize.RAM,
        "--stream": not facts.options.stream,
    }
    return [f"{compiled} {flag} -o OUT.tar   may need less" for flag, is_new in untried.items() if is_new]


def _peak(report: Report) -> list[str]:
    peak = report.peak
    largest = ", ".join(f"{name} {size:,}" for name, size in peak.buffers[:_MOST_SHOWN])
    return [f"peak at {layer_name(report)}: {largest} bytes"]


def layer_name(report: Report) -> str:
    """Returns the layer at the memory peak."""
    layer = report.peak.layer
    return f"layer {layer.index}, {layer.origin or layer.name}"


def require_core(facts: ModelFacts, board: Board) -> None:
    """Raises BoardError if the code is for another core or uses instructions that the board lacks."""
    target, there = facts.target, board.target
    if target.core != there.core or not target.features <= there.features:
        raise BoardError(
            f"{facts.name} was compiled for {core_label(target)}, {board.name} has {core_label(there)}",
            hint=f"compile it for this board: deploy compile MODEL {board.option} -o OUT.tar",
        )


def core_label(target: Target) -> str:
    """Returns the core with its features."""
    features = ", ".join(sorted(target.features))
    return f"{target.core} ({features})" if features else target.core
