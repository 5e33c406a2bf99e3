"""Room beside a plan: as much as nothing lives in, while it lives; what is taken is not there again."""

from __future__ import annotations

from plan_requests import Net

from aot.plan.model import Kind, Plan, PlanRequest
from aot.plan.planner import make_plan
from aot.plan.room import Room


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
    assert not Room(request, plan, 1280).lengthen("y", 1)
    assert Room(request, plan, 1281).lengthen("y", 1)
    assert Room(request, plan, 1280).lengthen("z", 560)
    assert not Room(request, plan, 1280).lengthen("z", 561)


def test_what_is_taken_is_not_there_again() -> None:
    room = Room(*early_peak(), 1280)
    assert room.lengthen("z", 500)
    assert not room.lengthen("z", 61)
    assert room.lengthen("z", 60)
    assert not room.add("end", 561)
    assert room.add("end", 560)


def test_something_more_counts_while_its_stage_runs() -> None:
    assert not Room(*early_peak(), 1280).add("y", 1)
    assert Room(*early_peak(), 1280).add("end", 1120)
    assert not Room(*early_peak(), 1280).add("end", 1121)
