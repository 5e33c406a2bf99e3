"""A model whose rows are the same on another board is planned once, until plans are forgotten."""

from __future__ import annotations

import pytest
from graphs import GRAPHS

from aot.plan.model import PlanRequest, Stage
from aot.target import Target
from codegen.compile import compile_job
from codegen.fit.variant import PlansFound, forget_plans, least_plan, plan_below
from codegen.job import ImportedModel, Job
from codegen.model import CompiledModel
from codegen.options import CompileOptions


def compiled(core: str, ram_bytes: int | None = None) -> CompiledModel:
    model = ImportedModel(GRAPHS["residual"](), "t", "0" * 64, "net")
    return compile_job(Job(model, Target(core), CompileOptions(ram_bytes=ram_bytes)))


def searches() -> int:
    return least_plan.searches + plan_below.searches


def test_rows_that_are_the_same_on_two_cores_are_planned_once() -> None:
    forget_plans()
    first = compiled("cortex-m0")
    before = searches()
    assert before > 0
    assert compiled("cortex-m0plus").plan == first.plan
    assert searches() == before


@pytest.mark.slow
def test_another_limit_is_another_plan() -> None:
    forget_plans()
    first = compiled("cortex-m0")
    before = searches()
    less = compiled("cortex-m0", first.plan.arena_bytes - 4)
    assert less.plan.arena_bytes < first.plan.arena_bytes
    assert searches() > before


def test_a_plan_that_was_forgotten_is_found_again_and_is_the_same() -> None:
    first = compiled("cortex-m0")
    forget_plans()
    assert compiled("cortex-m0").plan == first.plan
    assert searches() > 0


def test_layers_by_themselves_push_out_no_model() -> None:
    found = PlansFound(lambda request: object())
    model = request_of(5, 1)
    plan = found(model)
    for number in range(1000):
        found(request_of(1, number))
    assert found(model) is plan
    assert found.searches == 1001


def request_of(stages: int, number: int) -> PlanRequest:
    return PlanRequest((), tuple(Stage(f"s{number}", (), (), ()) for _ in range(stages)), ())
