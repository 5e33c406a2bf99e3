"""The checker catches every way of breaking a good plan, and names both things that collide."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plan_requests import Net, dscnn, resnet8
from random_nets import requests

from aot.plan.check import PlanError, check_plan
from aot.plan.model import Kind, Plan, PlannedBuffer, PlanRequest, Pool, Rows
from aot.plan.planner import make_plan


def moved(plan: Plan, name: str, **changes: object) -> Plan:
    """With room for it: what is wrong is to be the collision, not the bounds."""
    buffer = replace(plan.buffers[name], **changes)  # type: ignore[arg-type]
    size = max(plan.pool_bytes[buffer.pool], buffer.offset + buffer.bytes)
    return replace(
        plan, buffers={**plan.buffers, name: buffer}, pool_bytes={**plan.pool_bytes, buffer.pool: size}
    )


def chain() -> tuple[PlanRequest, Plan]:
    """Two windows of three rows, planned by hand: y is a ring of three rows."""
    net = Net()
    y = net.window(net.input("x", 6, 8), "y", 8, 3)
    net.window(y, "z", 8, 3, kind=Kind.OUTPUT)
    buffers = (
        PlannedBuffer("x", "arena", 0, 6, 8, 0, 4),
        PlannedBuffer("y", "arena", 48, 3, 8, 0, 5),
        PlannedBuffer("z", "arena", 72, 2, 8, 3, 5),
    )
    plan = Plan((0, 0, 0, 1, 0, 1), {b.name: b for b in buffers}, {"arena": 88}, 0, 0)
    return net.request(), plan


def summing() -> tuple[PlanRequest, Plan]:
    """y is summed up row by row in z; in between rows of v are written."""
    net = Net()
    x = net.input("x", 4, 16)
    y = net.window(x, "y", 8)
    net.window(x, "v", 16, kind=Kind.OUTPUT)
    net.dense(net.pool(y, "z", 4, state=16), "out", 4, Kind.OUTPUT)
    buffers = (
        PlannedBuffer("x", "arena", 0, 4, 16, 0, 12),
        PlannedBuffer("y", "arena", 64, 1, 8, 0, 12),
        PlannedBuffer("v", "arena", 72, 4, 16, 0, 12),
        PlannedBuffer("z", "arena", 136, 1, 4, 0, 12),
        PlannedBuffer("z.state", "arena", 140, 1, 16, 0, 12),
        PlannedBuffer("out", "arena", 156, 1, 4, 0, 12),
    )
    plan = Plan((0, 2, 1) * 4 + (3,), {b.name: b for b in buffers}, {"arena": 160}, 0, 0)
    return net.request(), plan


def joining() -> tuple[PlanRequest, Plan]:
    """Rows of two inputs, one behind the other, in z: its parts are written by turns and read in order."""
    net = Net()
    sources = [net.input("a", 2, 8), net.input("b", 2, 8)]
    net.window(net.joined(sources, "z"), "y", 8, kind=Kind.OUTPUT)
    buffers = (
        PlannedBuffer("a", "arena", 0, 2, 8, 0, 7),
        PlannedBuffer("b", "arena", 16, 2, 8, 0, 7),
        PlannedBuffer("z", "arena", 32, 4, 8, 0, 7),
        PlannedBuffer("y", "arena", 64, 4, 8, 0, 7),
    )
    plan = Plan((1, 0, 1, 0, 2, 2, 2, 2), {b.name: b for b in buffers}, {"arena": 96}, 0, 0)
    return net.request(), plan


def test_parts_in_order_make_a_ring():
    request, plan = joining()
    in_order = replace(plan, order=(0, 2, 0, 2, 1, 2, 1, 2))
    check_plan(request, moved(in_order, "z", rows_held=1))


def test_the_part_of_another_stage_written_over_is_caught():
    """A stage that begins a row too early writes what its neighbour has written."""
    request, plan = joining()
    *others, second, reader = request.stages
    shifted = tuple(
        replace(f, writes=tuple(Rows(r.first - 1, r.stop - 1) for r in f.writes)) for f in second.steps
    )
    stages = (*others, replace(second, steps=shifted), reader)
    with pytest.raises(PlanError, match=r"row 1 of tensor 'z' .* by stage 'z\[0\]', not by stage 'z\[1\]'"):
        check_plan(replace(request, stages=stages), plan)


def working() -> tuple[PlanRequest, Plan]:
    """Two windows, each of which works in the same bytes while it runs."""
    request, plan = chain()
    stages = tuple(replace(stage, scratch_bytes=16) for stage in request.stages)
    scratch = [PlannedBuffer(f"{name}.scratch", "arena", 88, 1, 16, 0, 5) for name in ("y", "z")]
    buffers = {**plan.buffers, **{buffer.name: buffer for buffer in scratch}}
    return replace(request, stages=stages), replace(plan, buffers=buffers, pool_bytes={"arena": 104})


Made = Callable[[], tuple[PlanRequest, Plan]]


@pytest.mark.parametrize("made", [chain, summing, joining, working])
def test_a_right_plan_is_accepted(made):
    check_plan(*made())


# A plan, a buffer that is put where another one is, or has other numbers, and what is overwritten by what.
COLLISIONS: dict[str, tuple[Made, str, str | dict[str, int], str]] = {
    "a row before it is read": (chain, "y", "x", r"row \d of tensor '\w' .* by row \d of tensor '\w'"),
    "a ring one row too short": (
        chain,
        "y",
        {"rows_held": 2},
        r"row 0 of tensor 'y' read by stage 'z' \(step 3\) was overwritten by row 2 of",
    ),
    "parts in a ring too short for both": (
        joining,
        "z",
        {"rows_held": 3},
        r"row \d of tensor 'z' .* was overwritten by row \d of tensor 'z'",
    ),
    "state on a row that its own stage reads": (
        summing,
        "z.state",
        "y",
        r"row 0 of tensor 'y' read by stage 'z' \(step 1\) was overwritten by the state of stage 'z'",
    ),
    "state on the row that its own stage writes": (
        summing,
        "z",
        "z.state",
        r"the state of stage 'z' used by stage 'z' \(step 10\) was overwritten by row 0 of tensor 'z'",
    ),
    "state between two steps": (
        summing,
        "z.state",
        "v",
        r"the state of stage 'z' kept for stage 'z' .* was overwritten by row 0 of tensor 'v'",
    ),
    "scratch on a row that its own stage reads": (
        working,
        "y.scratch",
        "x",
        r"row 0 of tensor 'x' read by stage 'y' \(step 0\) was overwritten by the scratch of stage 'y'",
    ),
    "scratch on a row that its own stage writes": (
        working,
        "z.scratch",
        "z",
        r"the scratch of stage 'z' used by stage 'z' \(step 3\) was overwritten by row 0 of tensor 'z'",
    ),
    "scratch on a row that is read later": (
        working,
        "y.scratch",
        {"offset": 32},
        r"row 4 of tensor 'x' read by stage 'y' \(step 2\) was overwritten by the scratch of stage 'y'",
    ),
    "scratch smaller than its stage needs": (
        working,
        "y.scratch",
        {"row_bytes": 8},
        r"buffer 'y\.scratch' has 8 bytes, its stage needs 16",
    ),
}


@pytest.mark.parametrize("name", COLLISIONS)
def test_a_collision_is_named_with_both_sides(name):
    made, buffer, change, wrong = COLLISIONS[name]
    request, plan = made()
    changes = {"offset": plan.buffers[change].offset} if isinstance(change, str) else change
    with pytest.raises(PlanError, match=wrong):
        check_plan(request, moved(plan, buffer, **changes))


@pytest.mark.parametrize(
    ("made", "order", "wrong"),
    [
        (chain, (0, 0, 0, 1, 0), "stage 'z' runs 1 times in the order, not 2"),
        (chain, (1, 0, 0, 0, 1, 0), r"row 0 of tensor 'y' read by stage 'z' .* was written by no stage yet"),
        (joining, (0, 0, 2, 2, 2, 2, 1, 1), r"row 2 of tensor 'z' read by stage 'y' .* by no stage yet, not"),
    ],
    ids=["a dropped step", "a reader before its writer", "a part before its stage has written it"],
)
def test_a_wrong_order_is_named(made, order, wrong):
    request, plan = made()
    with pytest.raises(PlanError, match=wrong):
        check_plan(request, replace(plan, order=order))


@pytest.mark.parametrize("name", ["y", "y.scratch"])
def test_a_buffer_in_a_pool_that_it_may_not_lie_in_is_caught(name):
    request, plan = working()
    only = frozenset({"tcm", "sram"})
    tensors = tuple(replace(t, pools=only) if t.name == name else t for t in request.tensors)
    stages = tuple(replace(s, pools=only) if f"{s.name}.scratch" == name else s for s in request.stages)
    wrong = rf"buffer '{name}' is in pool 'arena', only 'sram', 'tcm' are allowed"
    with pytest.raises(PlanError, match=wrong):
        check_plan(replace(request, tensors=tensors, stages=stages), plan)


def test_two_inputs_in_one_place_are_caught():
    net = Net()
    net.pointwise([net.input("a", 2, 4), net.input("b", 2, 4)], "sum", kind=Kind.OUTPUT)
    request = net.request()
    plan = make_plan(request)
    with pytest.raises(
        PlanError, match="row 0 of tensor 'a' present before the run was overwritten by row 0 of tensor 'b'"
    ):
        check_plan(request, moved(plan, "b", offset=plan.buffers["a"].offset))


def test_state_replaced_before_its_old_rows_are_read_is_caught():
    net = Net()
    x = net.input("x", 2, 4)
    net.dense(net.remembered(x, "m"), "out", 4, Kind.OUTPUT)
    request = net.request()
    plan = make_plan(request)
    check_plan(request, plan)
    swapped = tuple({0: 1, 1: 0}.get(stage, stage) for stage in plan.order)
    with pytest.raises(
        PlanError, match=r"'m_before' read by stage 'm' .* by stage 'm_keep', not by the caller"
    ):
        check_plan(request, replace(plan, order=swapped))


BREAKS: dict[str, tuple[Callable[[PlannedBuffer], PlannedBuffer], str]] = {
    "is not aligned": (lambda b: replace(b, offset=b.offset + 2), "is not aligned to 4"),
    "leaves its pool": (lambda b: replace(b, offset=b.offset + 4000), "exceeds pool 'arena'"),
    "lies below its pool": (lambda b: replace(b, offset=-4), "exceeds pool 'arena'"),
    "is in no pool": (lambda b: replace(b, pool="moon"), "in pool 'moon', which is not in the request"),
    "has rows of another size": (lambda b: replace(b, row_bytes=12), "rows of tensor 'y' have 8 bytes"),
    "has no rows": (lambda b: replace(b, rows_held=0), "of 4 rows is held as 0"),
    "has too many rows": (lambda b: replace(b, rows_held=5), "of 4 rows is held as 5"),
    "says it lives shorter": (lambda b: replace(b, last_step=b.last_step - 1), "is accessed at step"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_buffer_is_refused_that(name):
    request, plan = chain()
    change, text = BREAKS[name]
    with pytest.raises(PlanError, match=text):
        check_plan(request, replace(plan, buffers={**plan.buffers, "y": change(plan.buffers["y"])}))


def test_a_whole_tensor_may_not_be_a_ring():
    request, plan = chain()
    tensors = tuple(replace(tensor, whole=True) for tensor in request.tensors)
    with pytest.raises(PlanError, match="inner tensor 'y' of 4 rows is held as 3"):
        check_plan(replace(request, tensors=tensors), plan)


def test_a_missing_buffer_is_named():
    request, plan = chain()
    buffers = {name: buffer for name, buffer in plan.buffers.items() if name != "y"}
    with pytest.raises(PlanError, match="no buffer for 'y'"):
        check_plan(request, replace(plan, buffers=buffers))


def test_a_pool_larger_than_offered_is_caught():
    request, plan = chain()
    with pytest.raises(PlanError, match="pool 'arena' is planned with"):
        check_plan(replace(request, pools=(Pool("arena", 8),)), plan)


@pytest.mark.parametrize("model", [resnet8, dscnn], ids=["resnet8", "dscnn"])
def test_no_ring_of_a_real_model_can_be_a_row_shorter(model):
    request = model()
    plan = make_plan(request)
    rings = [t.name for t in request.tensors if 1 < plan.buffers[t.name].rows_held < t.rows]
    assert rings
    for name in rings:
        with pytest.raises(PlanError):
            check_plan(request, moved(plan, name, rows_held=plan.buffers[name].rows_held - 1))


@pytest.mark.slow
@settings(max_examples=40)
@given(requests(most_steps=5), st.data())
def test_two_buffers_in_one_place_are_caught_whenever_both_are_live_at_once(request, data):
    """Tensors that are read to the end while another one is kept: outputs and state."""
    plan = make_plan(request)
    kept = [t.name for t in request.tensors if t.kind in (Kind.OUTPUT, Kind.STATE)]
    assume(len(kept) > 1)
    one, other = data.draw(st.lists(st.sampled_from(kept), min_size=2, max_size=2, unique=True))
    with pytest.raises(PlanError):
        check_plan(request, moved(plan, one, offset=plan.buffers[other].offset))


@pytest.mark.slow
@settings(max_examples=40)
@given(requests(most_steps=5), st.data())
def test_steps_swapped_against_a_wait_are_caught(request, data):
    """Neighbours of which the second reads what the first writes."""
    plan = make_plan(request)
    bound = list(needing_neighbours(request, plan))
    assume(bound)
    at = data.draw(st.sampled_from(bound))
    order = (*plan.order[:at], plan.order[at + 1], plan.order[at], *plan.order[at + 2 :])
    with pytest.raises(PlanError):
        check_plan(request, replace(plan, order=order))


def needing_neighbours(request: PlanRequest, plan: Plan) -> list[int]:
    taken, steps = [0] * len(request.stages), []
    for number in plan.order:
        steps.append((request.stages[number], request.stages[number].steps[taken[number]]))
        taken[number] += 1
    found = []
    for at, ((writer, first), (reader, second)) in enumerate(pairwise(steps)):
        written = dict(zip(writer.writes, first.writes, strict=True))
        for name, rows in zip(reader.reads, second.reads, strict=True):
            there = written.get(name)
            overlaps = there is not None and max(there.first, rows.first) < min(there.stop, rows.stop)
            if overlaps and writer is not reader:
                found.append(at)
    return found
