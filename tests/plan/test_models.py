"""Requests with the shapes of well-known models: how small the arena gets, and how fast."""

import time

import pytest
from plan_requests import MODELS

from aot.plan.check import check_plan
from aot.plan.planner import make_plan
from aot.plan.wholes import peak_lower_bound

# model -> (arena by rows, of whole tensors, bound no planner that keeps whole tensors alive can beat)
EXPECTED_BYTES = {
    "resnet8": (13_200, 35_400, 51_200),
    "dscnn": (5_240, 12_160, 16_640),
    "vww": (28_800, 38_800, 56_832),
    "autoencoder": (768, 768, 768),
    "mobilenet_v2": (92_000, 317_000, 391_680),
}
SECONDS = 4.0  # on a busy machine; one second on an idle one


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED_BYTES)
def test_the_arena_by_rows_is_as_small_as_it_was(name):
    by_rows, _, bound = EXPECTED_BYTES[name]
    request = MODELS[name]()
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.bound_bytes <= plan.arena_bytes <= by_rows
    assert peak_lower_bound(request) == bound


@pytest.mark.parametrize("name", EXPECTED_BYTES)
def test_whole_tensors_overlap_row_by_row_below_their_bound(name):
    _, whole, bound = EXPECTED_BYTES[name]
    request = MODELS[name](rows=False)
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.arena_bytes <= min(whole, bound)


@pytest.mark.slow
@pytest.mark.parametrize("model", [MODELS["vww"], MODELS["mobilenet_v2"]], ids=["vww", "mobilenet_v2"])
def test_planning_and_checking_are_quick(model):
    request = model()
    start = time.process_time()
    check_plan(request, make_plan(request))
    assert time.process_time() - start < SECONDS


def test_a_dying_input_is_overlapped():
    request = MODELS["vww"]()
    plan = make_plan(request)
    frame = plan.buffers["input"]
    on_it = [
        b.name
        for b in plan.buffers.values()
        if b is not frame and b.offset < frame.offset + frame.bytes and frame.offset < b.offset + b.bytes
    ]
    assert len(on_it) > 10


def test_the_peak_is_named_with_what_lives_there_largest_first():
    request = MODELS["dscnn"]()
    plan = make_plan(request)
    assert request.stages[plan.order[plan.peak_step]].name == "dw0"
    assert plan.peak_buffers[:3] == ("conv", "pw0", "pw1")
