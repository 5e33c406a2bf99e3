"""A device starts early, what it works on is left alone until it is done, and the checker sees to it."""

from dataclasses import replace

import pytest

from aot.plan.check import PlanError, check_plan
from aot.plan.model import NO_ROWS, Kind, Plan, PlanRequest, PlanTensor, Rows, Stage, Step
from aot.plan.order import waited_late
from aot.plan.planner import make_plan
from aot.plan.steps import number_steps

BYTES, TILE = 64, 128
ALL = Rows(0, 1)


def tensor(name: str, kind: Kind = Kind.INNER) -> PlanTensor:
    return PlanTensor(name, 1, BYTES, kind, whole=True)


def beside_the_core() -> PlanRequest:
    """The core and a device read `x`; the device is started with what it reads and writes."""
    every = Step((ALL,), (ALL,))
    stages = (
        Stage("make x", ("in",), ("x",), (every,)),
        Stage("core", ("x",), ("c",), (every,)),
        Stage("core again", ("c",), ("c2",), (every,)),
        Stage("device", ("x",), ("d",), (every, every), starts=True),
        Stage("both", ("c2", "d"), ("y",), (Step((ALL, ALL), (ALL,)),)),
    )
    inner = [tensor(name) for name in ("x", "c", "c2", "d")]
    tensors = (tensor("in", Kind.INPUT), *inner, tensor("y", Kind.OUTPUT))
    return PlanRequest(tensors, stages, starts_at_once=True)


def weights_by_dma(layers: int) -> PlanRequest:
    """Layers whose weights come into their state; only the wait reads and writes tensors."""
    names = ["in", *(f"t{n}" for n in range(1, layers)), "out"]
    steps = (Step((NO_ROWS,), (NO_ROWS,)), Step((ALL,), (ALL,)))
    stages = tuple(
        Stage(f"layer {n}", (names[n],), (names[n + 1],), steps, state_bytes=TILE, starts=True)
        for n in range(layers)
    )
    kinds = {"in": Kind.INPUT, "out": Kind.OUTPUT}
    return PlanRequest(tuple(tensor(name, kinds.get(name, Kind.INNER)) for name in names), stages)


def order_of(request: PlanRequest, plan: Plan) -> list[str]:
    return [request.stages[number].name for number in plan.order]


def test_the_core_works_while_the_device_does():
    request = beside_the_core()
    plan = make_plan(request)
    check_plan(request, plan)
    order = order_of(request, plan)
    assert order == ["make x", "device", "core", "core again", "device", "both"]


def test_weights_of_the_next_layer_come_where_memory_is_free():
    """A large tensor at one moment leaves room at all others for a second transfer."""
    request = weights_by_dma(3)
    large = replace(request.tensors[0], row_bytes=8 * TILE)
    request = replace(request, tensors=(large, *request.tensors[1:]))
    plan = make_plan(request)
    check_plan(request, plan)
    assert order_of(request, plan) == [
        "layer 0",  # there is no memory for another transfer beside the large input
        "layer 0",
        "layer 1",
        "layer 2",
        "layer 1",
        "layer 2",
    ]


def test_no_memory_is_taken_for_an_early_start():
    request = weights_by_dma(2)
    late = replace(request, stages=tuple(replace(stage, starts=False) for stage in request.stages))
    assert make_plan(request).arena_bytes == make_plan(late).arena_bytes == 2 * BYTES + TILE


def test_a_device_is_waited_for_before_the_next_one_starts():
    """Though the start of the next needs nothing of it: two transfers would hold memory all the time."""
    assert waited_late(number_steps(weights_by_dma(2)), (0, 0, 1, 1), 0) == (0, 0, 1, 1)


def broken(plan: Plan, name: str, onto: str) -> Plan:
    """The plan with one buffer where another lies."""
    there = plan.buffers[onto]
    return replace(plan, buffers={**plan.buffers, name: replace(plan.buffers[name], offset=there.offset)})


@pytest.mark.parametrize(
    ("name", "onto", "text"),
    [
        (
            "c",
            "x",
            "row 0 of tensor 'x' read by stage 'core' (step 2) was overwritten by row 0 of tensor 'c'",
        ),
        (
            "c2",
            "x",
            "row 0 of tensor 'x' read by stage 'device' (step 4) was overwritten by row 0 of tensor 'c2'",
        ),
        (
            "c2",
            "d",
            "row 0 of tensor 'd' written on by stage 'device' (step 4) was overwritten by "
            "row 0 of tensor 'c2'",
        ),
    ],
)
def test_what_lies_on_a_devices_memory_before_it_is_done_is_caught(name, onto, text):
    request = beside_the_core()
    plan = make_plan(request)
    plan = replace(plan, pool_bytes={"arena": plan.arena_bytes + BYTES})
    with pytest.raises(PlanError) as caught:
        check_plan(request, broken(plan, name, onto))
    assert str(caught.value) == text


def test_what_lies_on_an_arriving_tile_is_caught():
    request = weights_by_dma(1)
    plan = make_plan(request)
    check_plan(request, plan)
    with pytest.raises(PlanError, match="the state of stage 'layer 0' used by stage 'layer 0'"):
        check_plan(request, broken(plan, "out", "layer 0.state"))


def test_reading_before_the_device_is_done_is_caught():
    request = beside_the_core()
    plan = make_plan(request)
    everywhere = {n: replace(b, first_step=0, last_step=5) for n, b in plan.buffers.items()}
    early = replace(plan, order=(0, 3, 1, 2, 4, 3), buffers=everywhere)
    with pytest.raises(PlanError, match="row 0 of tensor 'd' read by stage 'both'"):
        check_plan(request, early)


def with_steps(*steps: Step) -> PlanRequest:
    request = beside_the_core()
    stages = (replace(s, steps=steps) if s.starts else s for s in request.stages)
    return replace(request, stages=tuple(stages))


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((Step((ALL,), (ALL,)),), "stage 'device' starts a device in 1 steps, not in 2"),
        (
            (Step((ALL,), (ALL,)), Step((NO_ROWS,), (ALL,))),
            "stage 'device' passes tensor 'x' to a device and does not keep it",
        ),
        (
            (Step((ALL,), (ALL,)), Step((ALL,), (NO_ROWS,))),
            "stage 'device' passes tensor 'd' to a device and does not keep it",
        ),
    ],
)
def test_a_request_that_would_not_keep_what_the_device_has_is_refused(steps, text):
    request = with_steps(*steps)
    with pytest.raises(PlanError) as caught:
        check_plan(request, make_plan(beside_the_core()))
    assert str(caught.value) == text
