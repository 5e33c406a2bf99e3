"""On a board with too little RAM the fastest plan that leaves room is taken; else the least there is."""

from __future__ import annotations

import pytest
from graphs import GRAPHS

from aot.passes.pipeline import run_meaning
from aot.target import Optimize, Target
from codegen.fit import plan_job as planning
from codegen.fit.budgets import archive_of
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions, Rounding

JOB = Job(ImportedModel(GRAPHS["residual"](), "t", "0" * 64, "net"), Target("cortex-m3"), CompileOptions())


def planned(monkeypatch: pytest.MonkeyPatch, room: int, job: Job = JOB) -> CompiledPlan:
    """The plan on a board that has so many bytes for an arena."""
    monkeypatch.setattr(planning, "_missing", lambda plan: max(plan.plan.arena_bytes - room, 0))
    return planning.plan_job(job)


def test_with_room_the_options_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch, 1 << 20)
    assert plan.job.options == CompileOptions(rounding=Rounding.TFLM)


def test_the_arena_gets_what_the_rest_leaves_and_the_options_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    most = planned(monkeypatch, 1 << 20).plan.arena_bytes
    plan = planned(monkeypatch, most - 1)
    assert plan.plan.arena_bytes < most
    assert plan.job.options == CompileOptions(ram_bytes=plan.plan.arena_bytes, rounding=Rounding.TFLM)


def test_of_what_leaves_no_room_the_least_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch, 0)
    least = archive_of(run_meaning(JOB.model.graph), JOB).by_arena[0]
    assert plan.plan.arena_bytes == least.arena_bytes
    assert plan.job.options == CompileOptions(Optimize.RAM, rounding=Rounding.TFLM)
