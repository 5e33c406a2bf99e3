"""A model file compiled for the memory that its board has: squeezed where the goal alone does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aot.errors import FitError
from aot.target import Optimize, Target
from codegen.compile import compile_model
from codegen.facts import facts_of
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.model import CompiledModel, CompileOptions
from codegen.report import Report, make_report


def compile_into(
    path: Path,
    target: Target,
    options: CompileOptions,
    points: Mapping[str, Point] = NOT_TUNED,
    board_name: str = "",
) -> CompiledModel:
    """Where nobody gives a budget of RAM, the board's own is one; what needs least where nothing fits.

    Raises ModelError for what cannot be compiled.
    """
    model = compile_model(path, target, options, points, board_name)
    room = _too_little_room(make_report(facts_of(model)))
    if room is None or options.ram_bytes is not None:
        return model
    try:
        return compile_model(path, target, replace(options, ram_bytes=room), points, board_name)
    except FitError:
        return compile_model(path, target, replace(options, optimize=Optimize.RAM), points, board_name)


def _too_little_room(report: Report) -> int | None:
    """Bytes that the board's memory leaves for the arena, where these are too few."""
    budget = next((each for each in report.budgets if each.region.role == "ram" and not each.fits), None)
    if budget is None:
        return None
    return max(budget.region.bytes - report.facts.stack_bytes_estimate, 0)
