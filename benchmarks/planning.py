"""How long a compile plans memory: orders, placements and the proof of the best, for shared models."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from aot.errors import DeployError
from aot.target import Optimize
from benchmarks.memory import BOARD
from benchmarks.shared import model_file, shapes_for
from codegen.compile import CompiledModel, compile_job
from codegen.fit import variant
from codegen.fit.variant import forget_plans
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board

MOST_S = 2.0
HEAD = (
    f"Seconds of processor time in which a compile makes its plans and checks the best, at most {MOST_S:g},\n"
    "printed by `python -m benchmarks planning`.\n\n"
    "| model | rows computed | buffers | arena, ram | plans | s | arena, speed | plans | s |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
)
PLANNERS = ("least_plan", "plan_below", "plan_like")
BESIDE = ("group_steps", "check_plan", "one_by_one")


@dataclass
class Watch:
    """What was spent in functions that a module calls by name."""

    plans: int = 0
    seconds: float = 0.0

    def around(self, function: Callable[..., Any], plans: int) -> Callable[..., Any]:
        def timed(*args: object, **kwargs: object) -> object:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += time.process_time() - start
                self.plans += plans

        return timed


@contextmanager
def watched() -> Iterator[Watch]:
    """All planning in here."""
    watch, functions = Watch(), {name: getattr(variant, name) for name in (*PLANNERS, *BESIDE)}
    for name, function in functions.items():
        setattr(variant, name, watch.around(function, name in PLANNERS))
    try:
        yield watch
    finally:
        for name, function in functions.items():
            setattr(variant, name, function)


def plan_model(name: str, goal: Optimize) -> tuple[CompiledModel, Watch]:
    """Compiled, and what planning took of that. Raises DeployError."""
    target = replace(load_board(BOARD).target, regions=())
    job = read_job(model_file(name), target, CompileOptions(goal, shapes=shapes_for(name)))
    forget_plans()
    with watched() as watch:
        return compile_job(job), watch


def planning_row(name: str) -> str:
    """Empty for a model that cannot be compiled."""
    try:
        (ram, its), (speed, other) = (plan_model(name, goal) for goal in (Optimize.RAM, Optimize.SPEED))
    except DeployError:
        return ""
    counts = len(ram.plan.order), len(ram.plan.buffers), ram.plan.arena_bytes, its.plans
    cells = (name, *(f"{n:,}" for n in counts), f"{its.seconds:.2f}")
    cells += (f"{speed.plan.arena_bytes:,}", str(other.plans), f"{other.seconds:.2f}")
    return f"| {' | '.join(cells)} |\n"
