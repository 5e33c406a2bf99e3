"""Very many buffers at the same time: placed once, in bounded work and memory, and told."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from plan_requests import Net
from random_nets import requests

from aot.plan import place, planner
from aot.plan.check import check_plan
from aot.plan.model import Kind, PlanRequest, Pool
from aot.plan.place import are_many, is_crowded
from aot.plan.planner import make_plan
from aot.plan.rings import Block

SECONDS = 10


def crowded_request(branches: int) -> PlanRequest:
    """As a search for nearest neighbours is: each point gives a value, and all are joined at the end."""
    net = Net()
    x = net.input("x", 1, 64)
    ends = [net.dense(net.dense(x, f"m{n}", 64), f"e{n}", 4) for n in range(branches)]
    net.pointwise(ends, "nearest", 8, kind=Kind.OUTPUT)
    return net.request()


@pytest.mark.slow
def test_five_thousand_stages_are_planned_in_seconds():
    request = crowded_request(2_500)
    start = time.process_time()
    plan = make_plan(request)
    assert time.process_time() - start < SECONDS
    check_plan(request, plan)
    assert plan.is_crowded
    assert plan.arena_bytes < 1.05 * plan.bound_bytes


@pytest.mark.slow
def test_millions_of_pairs_are_not_looked_at(monkeypatch):
    request = crowded_request(1_050)
    monkeypatch.setattr(planner, "forbidden_distances", lambda *_: pytest.fail("it is asked for all pairs"))
    assert make_plan(request).is_crowded


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(request_=requests(most_steps=6))
def test_the_checker_accepts_what_is_placed_whole(monkeypatch, request_):
    """In one pool, and in two of which the fast one is too small."""
    monkeypatch.setattr(place, "MOST_PAIRS", -1)
    plan = make_plan(request_)
    assert plan.is_crowded
    check_plan(request_, plan)
    half = Pool("fast", plan.arena_bytes // 2), Pool("slow")
    parted = replace(request_, pools=half)
    check_plan(parted, make_plan(parted))


@pytest.mark.slow
def test_without_a_crowd_it_is_searched():
    assert not make_plan(crowded_request(20)).is_crowded


@pytest.mark.parametrize(("together", "is_crowd"), [(600, False), (1_100, True)])
def test_a_crowd_are_a_thousand_at_once(together, is_crowd):
    """Each pair of 600 blocks is still looked at, so that they are placed with care."""
    assert are_many(np.zeros(together, np.int64), np.ones(together, np.int64)) is is_crowd


def test_a_thousand_blocks_one_after_the_other_are_not_a_crowd():
    times = (np.asarray([time]) for time in range(1_100))
    blocks = [Block(f"b{n}", 1, 4, 4, np.zeros(1, np.int64), time, time) for n, time in enumerate(times)]
    assert not is_crowded(blocks)
