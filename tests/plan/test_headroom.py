"""Headroom of a plan: bytes in which nothing lives, as long as nothing does; taken bytes are gone."""

from __future__ import annotations

from plan_requests import Net

from aot.plan.headroom import PlanHeadroom
from aot.plan.model import Kind, Plan, PlanRequest
from aot.plan.planner import make_plan


def early_peak() -> tuple[PlanRequest, Plan]:
    """Live are 640 bytes of x with 640 of y, then those with 80 of z, then 80 of z with 80 of the end."""
    net = Net()
    y = net.window(net.input("x", 10, 64), "y", 640, kernel=10)
    net.pointwise([net.pointwise([y], "z", 80)], "end", 80, kind=Kind.OUTPUT)
    request = net.request()
    return request, make_plan(request)


def test_what_lives_away_from_the_peak_may_grow_and_what_lives_at_it_may_not() -> None:
    request, plan = early_peak()
    assert plan.arena_bytes == 1280
    assert not PlanHeadroom(request, plan, 1280).grow_rows("y", 1)
    assert PlanHeadroom(request, plan, 1281).grow_rows("y", 1)
    assert PlanHeadroom(request, plan, 1280).grow_rows("z", 560)
    assert not PlanHeadroom(request, plan, 1280).grow_rows("z", 561)


def test_what_is_taken_is_not_there_again() -> None:
    headroom = PlanHeadroom(*early_peak(), 1280)
    assert headroom.grow_rows("z", 500)
    assert not headroom.grow_rows("z", 61)
    assert headroom.grow_rows("z", 60)
    assert not headroom.reserve("end", 561)
    assert headroom.reserve("end", 560)


def test_something_more_counts_while_its_stage_runs() -> None:
    assert not PlanHeadroom(*early_peak(), 1280).reserve("y", 1)
    assert PlanHeadroom(*early_peak(), 1280).reserve("end", 1120)
    assert not PlanHeadroom(*early_peak(), 1280).reserve("end", 1121)
