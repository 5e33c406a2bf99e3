"""Groups of steps: what is planned and checked for them holds for their steps one by one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from plan_requests import Net, dscnn
from random_nets import requests

from aot.plan.check import check_plan
from aot.plan.groups import group_steps, one_by_one
from aot.plan.model import Kind, PlanRequest, Rows
from aot.plan.planner import make_plan


@pytest.mark.slow
@settings(max_examples=60)
@given(requests(most_steps=5))
def test_a_plan_of_groups_is_right_for_their_steps(request):
    steps = sum(len(stage.steps) for stage in request.stages)
    grouped = group_steps(request, 0, steps // 3)
    plan = make_plan(grouped.request)
    check_plan(grouped.request, plan)
    check_plan(request, one_by_one(plan, grouped))


def test_few_steps_are_left_alone():
    request = dscnn()
    grouped = group_steps(request)
    assert grouped.request is request
    plan = make_plan(request)
    assert one_by_one(plan, grouped) == plan


def test_groups_are_the_smallest_that_are_few_enough():
    net = Net()
    net.window(net.window(net.input("x", 12, 4), "y", 4, 3), "z", 4, 3, kind=Kind.OUTPUT)
    grouped = group_steps(net.request(), 17, 10)
    assert grouped.sizes == ((2, 2, 2, 2, 2), (2, 2, 2, 2))
    first, *_ = grouped.request.stages[0].steps
    assert (first.reads, first.writes) == ((Rows(0, 4),), (Rows(0, 2),))


def test_stages_with_large_rows_have_smaller_groups():
    net = Net()
    x = net.input("x", 12, 1)
    net.pointwise([net.pointwise([net.pointwise([x], "small", 1)], "large", 6)], "y", 1, kind=Kind.OUTPUT)
    sizes = [max(each) for each in group_steps(net.request(), 12, 28).sizes]
    assert sizes[0] > sizes[1] == sizes[2], "the last layer reads the large rows"


def test_a_stage_whose_steps_write_everywhere_is_grouped():
    net = Net()
    net.pointwise([net.input("x", 8, 4)], "y", kind=Kind.OUTPUT)
    (stage,) = net.request().stages
    every = [Rows(0, 8) if n in (0, 7) else Rows(0, 0) for n in range(8)]
    steps = tuple(replace(step, writes=(rows,)) for step, rows in zip(stage.steps, every, strict=True))
    spread = replace(net.request(), stages=(replace(stage, steps=steps),))
    grouped = group_steps(spread, 4, 4)
    assert grouped.sizes == ((2,) * 4,)
    plan = make_plan(grouped.request)
    check_plan(spread, one_by_one(plan, grouped))


def line(rows: int) -> PlanRequest:
    """Two layers over so many rows."""
    net = Net()
    net.window(net.window(net.input("x", rows, 4), "y", 4), "z", 4, kind=Kind.OUTPUT)
    return net.request()


def test_five_thousand_steps_are_planned_one_by_one_and_their_rings_stay_small():
    assert not any(size > 1 for sizes in group_steps(line(2_500)).sizes for size in sizes)


@pytest.mark.slow
def test_thirty_thousand_steps_become_groups_of_twelve():
    """Larger groups read and write more rows at once, and their rings take more memory."""
    assert {max(sizes) for sizes in group_steps(line(15_000)).sizes} == {12}


def test_a_stage_that_does_not_write_row_after_row_is_not_grouped():
    net = Net()
    net.pointwise([net.input("x", 8, 4)], "y", kind=Kind.OUTPUT)
    (stage,) = net.request().stages
    backwards = replace(net.request(), stages=(replace(stage, steps=stage.steps[::-1]),))
    assert group_steps(backwards, 4, 4).sizes == ((1,) * 8,)
