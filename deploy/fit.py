"""Refuses a model that does not fit its board, or is for another core, before anything is built."""

from __future__ import annotations

from aot.errors import BoardError, FitError
from aot.target import Target
from boards.board import Board
from codegen.facts import ModelFacts
from codegen.report import Budget, Report

_MOST_SHOWN = 3
_NAMES = {"ram": "RAM", "flash": "flash"}


def role_name(role: str) -> str:
    """As people write it."""
    return _NAMES[role]


def require_fit(report: Report, board: Board) -> None:
    """Raises FitError with what is needed, what there is, and what is largest."""
    for budget in report.budgets:
        if not budget.fits:
            raise _does_not_fit(report, board, budget)


def _does_not_fit(report: Report, board: Board, budget: Budget) -> FitError:
    role, region = role_name(budget.region.role), budget.region
    parts = ", ".join(f"{name} {size:,}" for name, size in budget.parts)
    where = [f"needed: {parts}", *(_peak(report) if role == "RAM" else ())]
    hint = (
        f"deploy inspect {report.facts.source_name} --board {board.name} --memory   shows what needs how much"
    )
    if role == "RAM" and report.facts.options.optimize.value != "ram":
        hint += "\n--optimize ram needs less of it"
    return FitError(
        f"the model needs {budget.needed_bytes:,} bytes of {role}, "
        f"{region.name} of {board.name} has {region.bytes:,}: "
        f"{budget.needed_bytes - region.bytes:,} too few",
        "\n".join(where),
        hint,
    )


def _peak(report: Report) -> list[str]:
    peak = report.peak
    largest = ", ".join(f"{name} {size:,}" for name, size in peak.buffers[:_MOST_SHOWN])
    return [f"peak at {layer_name(report)}: {largest} bytes"]


def layer_name(report: Report) -> str:
    """The layer at which most memory is needed."""
    layer = report.peak.layer
    return f"layer {layer.index}, {layer.origin or layer.name}"


def require_core(facts: ModelFacts, board: Board) -> None:
    """Code for one core does not run on another, nor without the instructions it uses."""
    target, there = facts.target, board.target
    if target.core != there.core or not target.features <= there.features:
        raise BoardError(
            f"{facts.name} was compiled for {_core(target)}, {board.name} has {_core(there)}",
            hint=f"compile it for this board: deploy compile MODEL --board {board.name} -o OUT.tar",
        )


def _core(target: Target) -> str:
    features = ", ".join(sorted(feature.value for feature in target.features))
    return f"{target.core} ({features})" if features else target.core
