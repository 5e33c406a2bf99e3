"""The checker knows what may lie on what: results on operands, rings that wrap, kept padding, devices."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from plan_requests import Net

from aot.plan.check import PlanError, check_plan
from aot.plan.model import (
    NO_ROWS,
    Kind,
    Plan,
    PlannedBuffer,
    PlanRequest,
    PlanTensor,
    Pool,
    Rows,
    Stage,
    Step,
)

ARENA = (Pool("arena"),)


def planned(order: Sequence[int], *buffers: tuple[str, int, int, int]) -> Plan:
    """Buffers as (name, offset, rows held, bytes of a row), each there from the first step to the last."""
    made = [
        PlannedBuffer(name, "arena", offset, held, row_bytes, 0, len(order) - 1)
        for name, offset, held, row_bytes in buffers
    ]
    size = max(buffer.offset + buffer.bytes for buffer in made)
    return Plan(tuple(order), {buffer.name: buffer for buffer in made}, {"arena": size}, 0, 0)


def by_rows(count: int) -> tuple[Step, ...]:
    return tuple(Step((Rows(row, row + 1),), (Rows(row, row + 1),)) for row in range(count))


def in_place(is_allowed: bool = True) -> tuple[PlanRequest, Plan]:
    """y, a ring of two rows, in a ring of three, v: rows 4 and 5 of both are in the same places."""
    net = Net()
    y = net.window(net.input("x", 6, 8), "y", 8)
    v = net.pointwise([y], "v", in_place=is_allowed)
    net.window(v, "z", 8, kind=Kind.OUTPUT)
    buffers = ("x", 0, 6, 8), ("y", 56, 2, 8), ("v", 48, 3, 8), ("z", 72, 6, 8)
    return net.request(), planned((0, 1, 2) * 6, *buffers)


def test_a_result_on_the_row_that_it_was_made_of_is_accepted():
    check_plan(*in_place())


def test_a_result_on_its_operand_is_caught_where_the_kernel_cannot_do_it():
    with pytest.raises(PlanError, match=r"row 4 of tensor 'y' read by stage 'v' .* by row 4 of tensor 'v'"):
        check_plan(*in_place(is_allowed=False))


def test_a_result_on_another_row_than_its_own_is_caught():
    """v is one row at a time, and lies where row 2 of y is."""
    net = Net()
    y = net.window(net.input("x", 4, 8), "y", 8)
    v = net.pointwise([y], "v", in_place=True)
    net.window(v, "z", 8, kind=Kind.OUTPUT)
    request = net.request()
    order = (0, 1, 2, 0, 0, 1, 2, 1, 2, 0, 1, 2)
    buffers = (("x", 0, 4, 8), ("y", 32, 3, 8), ("v", 48, 1, 8), ("z", 56, 4, 8))
    with pytest.raises(PlanError, match=r"row 2 of tensor 'y' .* was overwritten by row 1 of tensor 'v'"):
        check_plan(request, planned(order, *buffers))


def test_a_result_on_a_row_behind_the_end_of_the_ring_is_caught():
    """z reads rows 1, 2 and 3 of y, the last of which is where the ring begins again."""
    net = Net()
    y = net.window(net.input("x", 6, 8), "y", 8, 3)
    net.window(y, "z", 8, 3, kind=Kind.OUTPUT)
    plan = planned((0, 0, 0, 1, 0, 1), ("x", 32, 6, 8), ("y", 8, 3, 8), ("z", 0, 2, 8))
    wrong = r"row 3 of tensor 'y' read by stage 'z' \(step 5\) was overwritten by row 1 of tensor 'z'"
    with pytest.raises(PlanError, match=wrong):
        check_plan(net.request(), plan)


def padded(keeps_padding: bool) -> tuple[PlanRequest, Plan]:
    """y has padding beside its rows, in a ring of two; u uses the second place before row 3 comes there."""
    tensors = (
        PlanTensor("x", 4, 8, Kind.INPUT),
        PlanTensor("y", 4, 8, Kind.INNER, keeps_padding=keeps_padding),
        PlanTensor("u", 1, 8, Kind.INNER),
        PlanTensor("z", 4, 8, Kind.OUTPUT),
        PlanTensor("w", 1, 8, Kind.OUTPUT),
    )
    first = (Step((Rows(0, 1),), (Rows(0, 1),)),)
    stages = (
        Stage("y", ("x",), ("y",), by_rows(4)),
        Stage("z", ("y",), ("z",), by_rows(4)),
        Stage("u", ("x",), ("u",), first),
        Stage("w", ("u",), ("w",), first),
    )
    order = (0, 1, 0, 1, 0, 1, 2, 3, 0, 1)
    buffers = (("x", 0, 4, 8), ("y", 32, 2, 8), ("u", 40, 1, 8), ("z", 48, 4, 8), ("w", 80, 1, 8))
    return PlanRequest(tensors, stages, ARENA), planned(order, *buffers)


def test_a_place_between_two_of_its_rows_is_anybodys():
    check_plan(*padded(keeps_padding=False))


def test_a_place_whose_padding_is_written_once_is_nobody_elses():
    wrong = "row 1 of tensor 'y' kept for row 3 was overwritten by row 0 of tensor 'u'"
    with pytest.raises(PlanError, match=wrong):
        check_plan(*padded(keeps_padding=True))


def test_padding_that_stays_is_accepted_however_often_the_ring_turns():
    request, plan = padded(keeps_padding=True)
    apart = replace(plan.buffers["u"], offset=88)
    buffers, sizes = {**plan.buffers, "u": apart}, {"arena": 96}
    check_plan(request, replace(plan, buffers=buffers, pool_bytes=sizes))


def halves(order: Sequence[int], other_at: int = 24) -> tuple[PlanRequest, Plan]:
    """Two stages write the same row one after the other, each its half; a third has a row of its own."""
    step = (Step((Rows(0, 1),), (Rows(0, 1),)),)
    tensors = [PlanTensor(name, 1, 8, Kind.INPUT if name == "x" else Kind.OUTPUT) for name in ("x", "y", "v")]
    stages = tuple(Stage(f"{name}{n}", ("x",), (name,), step) for n, name in enumerate(("y", "y", "v")))
    buffers = ("x", 0, 1, 8), ("y", 8, 1, 8), ("v", other_at, 1, 8)
    return PlanRequest(tuple(tensors), stages, ARENA), planned(order, *buffers)


def test_a_row_that_two_stages_write_is_accepted():
    check_plan(*halves((0, 1, 2)))


def test_half_a_row_written_over_before_the_other_half_comes_is_caught():
    wrong = r"row 0 of tensor 'y' written on by stage 'y1' \(step 2\) was overwritten by row 0 of tensor 'v'"
    with pytest.raises(PlanError, match=wrong):
        check_plan(*halves((0, 2, 1), other_at=8))


def test_a_row_that_nobody_writes_is_not_there_after_the_run():
    net = Net()
    net.window(net.input("x", 2, 8), "z", 8, kind=Kind.OUTPUT)
    request = net.request()
    (stage,) = request.stages
    only_first = replace(request, stages=(replace(stage, steps=stage.steps[:1]),))
    plan = planned((0,), ("x", 0, 2, 8), ("z", 16, 2, 8))
    with pytest.raises(PlanError, match=r"^row 1 of tensor 'z' kept after the run does not exist$"):
        check_plan(only_first, plan)


def test_a_row_of_the_first_step_of_all_is_reported_as_that_stages():
    """Two stages write a row in the wrong order: the first of them then has the last word."""
    request, plan = halves((1, 0, 2, 3))
    reader = Stage("r", ("y",), ("r",), (Step((Rows(0, 1),), (Rows(0, 1),)),))
    tensors = (*request.tensors, PlanTensor("r", 1, 8, Kind.OUTPUT))
    wrong = r"read by stage 'r' \(step 3\) was written by stage 'y0', not by stage 'y1'"
    room = {**plan.buffers, "r": PlannedBuffer("r", "arena", 32, 1, 8, 0, 3)}
    with pytest.raises(PlanError, match=wrong):
        check_plan(
            replace(request, tensors=tensors, stages=(*request.stages, reader)),
            replace(plan, buffers=room, pool_bytes={"arena": 40}),
        )


def device(given: Rows, kept: Rows, *more: Step) -> tuple[PlanRequest, Plan]:
    """A stage that starts a device with some rows of x and waits for it."""
    start, wait = Step((given,), (NO_ROWS,)), Step((kept,), (Rows(0, 1),))
    tensors = PlanTensor("x", 2, 8, Kind.INPUT), PlanTensor("d", 1, 8, Kind.OUTPUT)
    stage = Stage("npu", ("x",), ("d",), (start, wait, *more), starts=True)
    plan = planned((0,) * len(stage.steps), ("x", 0, 2, 8), ("d", 16, 1, 8))
    return PlanRequest(tensors, (stage,), ARENA), plan


@pytest.mark.parametrize("given", [Rows(0, 2), NO_ROWS], ids=["all rows", "nothing"])
def test_a_device_that_keeps_what_it_was_given_is_accepted(given):
    check_plan(*device(given, Rows(0, 2)))


def test_a_device_that_is_given_what_nobody_keeps_is_caught():
    with pytest.raises(PlanError, match="stage 'npu' passes tensor 'x' to a device and does not keep it"):
        check_plan(*device(Rows(0, 2), Rows(0, 1)))


def test_a_device_that_is_started_in_three_steps_is_caught():
    with pytest.raises(PlanError, match="stage 'npu' starts a device in 3 steps, not in 2"):
        check_plan(*device(Rows(0, 2), Rows(0, 2), Step((NO_ROWS,), (NO_ROWS,))))
