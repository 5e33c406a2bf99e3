"""Every plan of a random graph passes the checker, and is no worse than what needs no planner."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from random_nets import requests

from aot.plan.check import check_plan
from aot.plan.conflicts import forbidden_distances
from aot.plan.model import PlanRequest
from aot.plan.order import draft_given
from aot.plan.place import BlockPacking, place_in_sequences
from aot.plan.planner import find_plan_below, make_plan, plan_like
from aot.plan.rings import find_in_place_overlaps, make_blocks
from aot.plan.steps import number_steps


def bytes_of_stages_in_turn(request: PlanRequest) -> int:
    draft = draft_given(number_steps(request))
    steps = number_steps(request)
    blocks = make_blocks(steps, draft.lives, draft.rings)
    allowed = find_in_place_overlaps(steps, draft.lives, draft.rings)
    packing = BlockPacking(blocks, forbidden_distances(blocks, allowed, draft.lives.after), request.pools)
    return sum(place_in_sequences(packing).ends)


@pytest.mark.slow
@settings(max_examples=60)
@given(requests())
def test_the_checker_accepts_plans_by_rows(request: PlanRequest) -> None:
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.bound_bytes <= plan.arena_bytes
    assert plan.arena_bytes <= bytes_of_stages_in_turn(request)


@pytest.mark.slow
@settings(max_examples=60)
@given(requests(rows=False))
def test_the_checker_accepts_plans_of_whole_tensors(request: PlanRequest) -> None:
    plan = make_plan(request)
    check_plan(request, plan)
    assert all(plan.buffers[tensor.name].rows_held == tensor.rows for tensor in request.tensors)
    stages = [stage for stage, after in zip(plan.order, (*plan.order[1:], -1), strict=True) if stage != after]
    assert len(stages) == len(set(stages)), "each stage runs all its steps at once"


@pytest.mark.slow
@settings(max_examples=10)
@given(requests(most_steps=5))
def test_a_request_gives_the_same_plan_each_time(request: PlanRequest) -> None:
    assert make_plan(request) == make_plan(request)


@pytest.mark.slow
@settings(max_examples=25)
@given(requests())
def test_only_a_plan_that_needs_less_than_the_limit_is_found_below_it(request: PlanRequest) -> None:
    least = make_plan(request)
    assert find_plan_below(request, least.arena_bytes + 1) == least
    assert find_plan_below(request, least.arena_bytes) is None


@pytest.mark.slow
@settings(max_examples=25)
@given(requests())
def test_the_order_of_a_plan_serves_again_within_its_limit(request: PlanRequest) -> None:
    """For the same rows, and for rows twice as long."""
    first = make_plan(request)
    again = plan_like(request, request, first, first.arena_bytes)
    assert again is not None
    assert (again.order, again.arena_bytes) == (first.order, first.arena_bytes)
    longer = replace(request, tensors=tuple(replace(t, row_bytes=2 * t.row_bytes) for t in request.tensors))
    second = plan_like(longer, request, first, 3 * first.arena_bytes + 1000)
    assert second is not None
    check_plan(longer, second)
    assert second.order == first.order
    assert plan_like(longer, request, first, second.bound_bytes - 1) is None
