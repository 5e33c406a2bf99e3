"""On a board with too little RAM the arena gets less, three times at most; then the least there is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import GRAPHS

from aot.passes.pipeline import PassRun, run_meaning
from aot.target import Optimize, Target
from codegen.fit import plan_job as planning
from codegen.fit.placement_search import find_plan
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

JOB = Job(ImportedModel(GRAPHS["residual"](), "t", "0" * 64, "net"), Target("cortex-m3"), CompileOptions())
AT_FIRST, AT_LAST = (Optimize.SPEED, None), (Optimize.RAM, None)


@pytest.fixture(scope="module")
def plan() -> CompiledPlan:
    return find_plan(run_meaning(JOB.model.graph), JOB)


def searched(
    monkeypatch: pytest.MonkeyPatch, plan: CompiledPlan, *missing: int, job: Job = JOB
) -> list[tuple[Optimize, int | None]]:
    """The goal and the arena's limit of each search; behind one after the other so many bytes are missing."""
    asked: list[tuple[Optimize, int | None]] = []
    left = [*missing, 0]

    def found(_: PassRun, job: Job, compact: frozenset[str] = frozenset()) -> CompiledPlan:
        asked.append((job.options.optimize, job.options.ram_bytes))
        return replace(plan, job=job)

    monkeypatch.setattr(planning, "find_plan", found)
    monkeypatch.setattr(planning, "_missing", lambda plan: left.pop(0))
    planning.plan_job(job)
    return asked


def test_with_room_one_search_is_enough(monkeypatch: pytest.MonkeyPatch, plan: CompiledPlan) -> None:
    assert searched(monkeypatch, plan) == [AT_FIRST]


def test_the_arena_gets_what_the_rest_leaves(monkeypatch: pytest.MonkeyPatch, plan: CompiledPlan) -> None:
    less = (Optimize.SPEED, plan.plan.arena_bytes - 40)
    assert searched(monkeypatch, plan, 40) == [AT_FIRST, less]


def test_there_is_no_arena_of_less_than_nothing(monkeypatch: pytest.MonkeyPatch, plan: CompiledPlan) -> None:
    asked = searched(monkeypatch, plan, plan.plan.arena_bytes + 1)
    assert asked == [AT_FIRST, (Optimize.SPEED, 0)]


def test_after_three_tries_the_least_is_taken(monkeypatch: pytest.MonkeyPatch, plan: CompiledPlan) -> None:
    """A user waits for each: what does not settle in three is planned for least memory, and shown."""
    asked = searched(monkeypatch, plan, 40, 40, 40, 40)
    assert asked == [AT_FIRST, *[(Optimize.SPEED, plan.plan.arena_bytes - 40)] * 3, AT_LAST]


def test_a_plan_for_least_memory_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch, plan: CompiledPlan
) -> None:
    job = replace(JOB, options=CompileOptions(Optimize.RAM))
    asked = searched(monkeypatch, plan, 40, 40, 40, 40, job=job)
    assert asked == [AT_LAST, *[(Optimize.RAM, plan.plan.arena_bytes - 40)] * 3]
