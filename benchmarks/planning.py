"""How long planning takes: order, placement and the checker, for shared models."""

from __future__ import annotations

import time
from dataclasses import replace

from aot.errors import DeployError
from aot.plan.check import check_plan
from aot.plan.groups import group_firings
from aot.plan.planner import make_plan
from aot.target import Optimize
from benchmarks.memory import BOARD
from benchmarks.shared import given_for, model_file
from boards.load import load_board
from codegen.compile import compile_model
from codegen.model import CompileOptions

MOST_S = 2.0
HEAD = (
    f"Seconds of processor time for planning and checking, at most {MOST_S:g}, printed by\n"
    "`python -m benchmarks planning`.\n\n"
    "| model | rows computed | buffers | arena, ram | s | arena, speed | s |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)


def planning_seconds(name: str, goal: Optimize) -> tuple[int, int, int, float]:
    """Firings, buffers, arena and the time that its plan took. Raises DeployError."""
    options = replace(CompileOptions(given=given_for(name)), optimize=goal)
    model = compile_model(model_file(name), load_board(BOARD).target, options)
    start = time.process_time()
    grouped = group_firings(model.request)
    plan = make_plan(grouped.request)
    check_plan(grouped.request, plan)
    spent = time.process_time() - start
    return len(model.plan.order), len(plan.buffers), plan.arena_bytes, spent


def planning_row(name: str) -> str:
    """Empty for a model that cannot be compiled."""
    try:
        ram, speed = (planning_seconds(name, goal) for goal in (Optimize.RAM, Optimize.SPEED))
    except DeployError:
        return ""
    cells = (name, *(f"{n:,}" for n in ram[:3]), f"{ram[3]:.2f}", f"{speed[2]:,}", f"{speed[3]:.2f}")
    return f"| {' | '.join(cells)} |\n"
