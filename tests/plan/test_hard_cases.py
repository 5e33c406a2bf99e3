"""Two stages that are more than one loop nest with one result: what fast kernels and accelerators ask for."""

from dataclasses import replace

from plan_requests import Net

from aot.plan.check import check_plan
from aot.plan.model import Kind, PlanRequest, PlanTensor, Pool, Rows, Stage, Step
from aot.plan.planner import make_plan

THIN, ROW, SCRATCH = 8, 160, 1024


def two_rows_at_a_time(height: int) -> PlanRequest:
    """A 3x3 convolution by tiles of 2x2: four rows in, two rows out, transformed tiles in scratch."""
    net = Net()
    padded = net.pointwise([net.input("image", height, THIN)], "padded", ROW, pad=1)
    tiles = net.in_pairs(padded, "tiles", ROW)
    net.window(tiles, "after", THIN, 3, kind=Kind.OUTPUT)
    request = net.request()
    stages = tuple(replace(s, scratch_bytes=SCRATCH) if s.name == "tiles" else s for s in request.stages)
    return replace(request, stages=stages)


def test_tiles_of_two_rows_need_rings_of_four_rows_and_scratch_beside_them():
    request = two_rows_at_a_time(16)
    plan = make_plan(request)
    check_plan(request, plan)
    held = {name: buffer.rows_held for name, buffer in plan.buffers.items()}
    assert (held["padded"], held["tiles"], held["tiles.scratch"]) == (4, 4, 1)


def test_an_odd_height_ends_with_a_step_of_one_row():
    request = two_rows_at_a_time(9)
    stage = next(stage for stage in request.stages if stage.name == "tiles")
    assert stage.steps[-1].writes == (Rows(8, 9),)
    check_plan(request, make_plan(request))


def behind_a_device(pools: tuple[Pool, ...]) -> PlanRequest:
    """Three layers that a device computes in one call, between two layers of the CPU.

    It reaches one memory only: what it reads, what it writes, and its scratch lie there.
    """
    net = Net()
    before = net.window(net.input("image", 16, ROW), "before", ROW)
    net.tensors.append(PlanTensor("boxes", 1, 64, Kind.OUTPUT))
    net.tensors.append(PlanTensor("features", 4, ROW, Kind.INNER))
    call = Step((Rows(0, before.rows),), (Rows(0, 4), Rows(0, 1)))
    net.stages.append(Stage("device", ("before",), ("features", "boxes"), (call,), scratch_bytes=SCRATCH))
    net.stages.append(Stage("after", ("features",), ("result",), (Step((Rows(0, 4),), (Rows(0, 1),)),)))
    net.tensors.append(PlanTensor("result", 1, 40, Kind.OUTPUT))
    reached = {"before", "features", "boxes"}
    request = net.request(pools=pools)
    only = frozenset({"sram"})
    tensors = tuple(replace(t, pools=only, whole=True) if t.name in reached else t for t in request.tensors)
    stages = tuple(replace(s, pools=only) if s.name == "device" else s for s in request.stages)
    return replace(request, tensors=tensors, stages=stages)


def test_the_buffers_of_a_device_lie_in_the_memory_that_it_reaches():
    request = behind_a_device((Pool("tcm", 1 << 16), Pool("sram", 1 << 16)))
    plan = make_plan(request)
    check_plan(request, plan)
    where = {name: buffer.pool for name, buffer in plan.buffers.items()}
    assert {name for name, pool in where.items() if pool == "sram"} == {
        "before",
        "boxes",
        "features",
        "device.scratch",
    }


def test_a_call_writes_both_its_results_before_either_is_read():
    request = behind_a_device((Pool("tcm", 1 << 16), Pool("sram", 1 << 16)))
    order = [request.stages[number].name for number in make_plan(request).order]
    assert order.index("device") > max(n for n, name in enumerate(order) if name == "before")
    assert order[-1] == "after"
