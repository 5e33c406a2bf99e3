"""Orders: demand keeps rings short, whole stages come in the best order there is."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from plan_requests import Image, Net
from random_nets import requests

from aot.plan import wholes
from aot.plan.check import PlanError, check_plan
from aot.plan.model import NO_ROWS, Kind, PlanRequest, PlanTensor, Rows, Stage, Step
from aot.plan.order import OrderHints, draft_given, order_by_demand, order_like, search_orders
from aot.plan.planner import make_plan
from aot.plan.rings import make_blocks
from aot.plan.steps import number_steps
from aot.plan.wholes import BOUND_LOOKS, MOST_BOUND_LOOKS, order_whole_stages, peak_lower_bound

PLAIN = OrderHints()


def names_by_demand(net: Net, hints: OrderHints = PLAIN) -> list[str]:
    request = net.request()
    order = order_by_demand(number_steps(request), hints)
    assert sorted(order) == [n for n, stage in enumerate(request.stages) for _ in stage.steps]
    return [request.stages[number].name for number in order]


def chain(height: int, *kernels: int, pad: int = 0) -> Net:
    net = Net()
    x = net.input("x", height, 4)
    for n, kernel in enumerate(kernels):
        last = n == len(kernels) - 1
        kind = Kind.OUTPUT if last else Kind.INNER
        x = net.window(x, "abcdef"[n], 4, kernel, pad=0 if last else pad, kind=kind)
    return net


def test_images_before_the_heads_of_joined_lists_are_rings():
    net = Net()
    x, heads = net.input("x", 32, 4), []
    for scale in range(3):
        x = net.window(x, f"image{scale}", 64, 2, 2)
        heads.append(net.window(x, f"head{scale}", 2))
    net.joined(heads, "lists", Kind.OUTPUT)
    plan = make_plan(net.request())
    assert [plan.buffers[f"image{scale}"].rows_held for scale in range(3)] == [2, 2, 1]


def test_a_row_is_made_just_before_it_is_read():
    assert names_by_demand(chain(6, 1, 3)) == list("aaababab" + "ab")


def test_an_order_serves_again_step_by_step():
    request = chain(6, 1, 3).request()
    steps = number_steps(request)
    order = order_by_demand(steps, PLAIN)
    assert order_like(steps, request.stages, order) == order


def test_padding_rows_come_as_late_as_their_neighbours():
    """The first row of b is padding: it waits until b's first real row can be made."""
    assert "".join(names_by_demand(chain(3, 1, 3, 3, pad=1))) == "aaabbabcabcbc"


def test_the_branch_of_a_residual_keeps_rows_only_as_long_as_the_other_needs():
    net = Net()
    x = net.window(net.input("in", 12, 8), "x", 8, pad=1)
    y = net.window(x, "y", 8, 3)
    net.pointwise([y, x], "sum", kind=Kind.OUTPUT)
    order = names_by_demand(net)
    assert order == ["x", "x", "x", "y", "sum", *["x", "y", "sum"] * 11]


def test_a_buffer_is_shown_from_the_step_that_first_touches_it_to_the_last_that_does():
    net = Net()
    net.dense(net.dense(net.dense(net.input("x", 1, 8), "a", 8), "b", 8), "out", 8, Kind.OUTPUT)
    plan = make_plan(net.request())
    spans = {name: (buffer.first_step, buffer.last_step) for name, buffer in plan.buffers.items()}
    assert spans == {"x": (0, 0), "a": (0, 1), "b": (1, 2), "out": (2, 2)}


def test_an_accumulating_stage_takes_each_row_as_it_is_made():
    net = Net()
    y = net.window(net.input("in", 4, 8), "y", 8)
    net.dense(net.pool(y, "pool", 4, state=8), "out", 4, Kind.OUTPUT)
    assert names_by_demand(net) == ["y", "pool"] * 4 + ["out"]


def two_outputs() -> Net:
    net = Net()
    y = net.window(net.input("in", 4, 8), "y", 8)
    net.window(y, "left", 8, kind=Kind.OUTPUT)
    net.window(y, "right", 8, kind=Kind.OUTPUT)
    return net


def test_two_outputs_can_advance_in_step():
    assert names_by_demand(two_outputs(), OrderHints(in_step=True)) == ["y", "left", "right"] * 4


def test_an_eager_stage_fires_as_soon_as_its_rows_are_there():
    assert names_by_demand(two_outputs(), OrderHints(eager=frozenset({2}))) == ["y", "right", "left"] * 4


def test_a_state_is_there_once_from_its_first_step_to_its_last():
    net = Net()
    net.pool(net.input("in", 4, 8), "pool", 4, state=8)
    steps = number_steps(net.request())
    given = draft_given(steps)
    *_, state = make_blocks(steps, given.lives, given.rings)
    assert (state.name, state.first.tolist(), state.last.tolist(), state.uses) == ("pool.state", [1], [4], 8)


def test_a_cut_stage_makes_all_its_rows_first():
    assert names_by_demand(chain(4, 1, 1, 1), OrderHints(cuts=frozenset({1}))) == list("abababab" + "cccc")


def test_rows_that_nobody_reads_are_made_right_after_the_last_wanted_one_is_read():
    """Stride 2 leaves x's last row; it must not keep the input alive to the end."""
    net = Net()
    x = net.window(net.input("in", 6, 8), "x", 8)
    y = net.strided(x, "y", 8, 2)
    net.dense(y, "out", 4, Kind.OUTPUT)
    assert names_by_demand(net) == ["x", "y", "x", "x", "y", "x", "x", "y", "x", "out"]


def peak_in_order(request: PlanRequest, stages: tuple[int, ...]) -> int | None:
    """By the definition; None where a stage would read what is not written."""
    sizes = {tensor.name: tensor.bytes for tensor in request.tensors}
    there = {tensor.name for tensor in request.tensors if tensor.kind is Kind.INPUT}
    kept = {tensor.name for tensor in request.tensors if tensor.kind is Kind.OUTPUT}
    peak = sum(sizes[name] for name in there)
    for position, number in enumerate(stages):
        stage = request.stages[number]
        if not there.issuperset(stage.reads):
            return None
        there |= set(stage.writes)
        peak = max(peak, sum(sizes[name] for name in there))
        stages_to_come = (request.stages[n] for n in stages[position + 1 :])
        later = {name for to_come in stages_to_come for name in (*to_come.reads, *to_come.writes)}
        used = {*stage.reads, *stage.writes}
        there -= used - later - kept
    return peak


@pytest.mark.slow
@settings(max_examples=60)
@given(
    requests(most_steps=6).filter(
        lambda r: len(r.stages) <= 6 and all(t.kind is not Kind.STATE for t in r.tensors)
    )
)
def test_small_graphs_get_the_best_order_of_whole_stages(request):
    found = order_whole_stages(request)
    peaks = [peak_in_order(request, stages) for stages in permutations(range(len(request.stages)))]
    assert found.is_exact
    assert found.peak_bytes == min(peak for peak in peaks if peak is not None)
    assert found.peak_bytes == peak_in_order(request, found.stages)
    assert peak_lower_bound(request) == found.peak_bytes


def wide_graph(branches: int) -> Net:
    """Many branches whose sizes differ, joined at the end: too many sets for an exact answer."""
    net = Net()
    x = net.input("x", 1, 16)
    ends = []
    for n in range(branches):
        middle = net.dense(x, f"m{n}", 20 + 13 * n % 37)
        ends.append(net.dense(middle, f"e{n}", 5 + 7 * n % 11))
    net.pointwise(ends, "sum", 8, kind=Kind.OUTPUT)
    return net


@pytest.mark.slow
def test_a_graph_too_wide_for_the_exact_search_says_so_and_keeps_an_honest_bound():
    request = wide_graph(14).request()
    found = order_whole_stages(request)
    assert not found.is_exact
    plan = make_plan(request)
    check_plan(request, plan)
    assert hungriest_stage(request) <= peak_lower_bound(request) <= found.peak_bytes


def hungriest_stage(request: PlanRequest) -> int:
    sizes = {tensor.name: tensor.bytes for tensor in request.tensors}
    return max(sum(sizes[name] for name in {*stage.reads, *stage.writes}) for stage in request.stages)


@pytest.mark.parametrize("branches", [20, 200])
def test_a_bound_alone_takes_little_work_for_each_stage(branches, monkeypatch):
    looked_at: list[int] = []
    run = wholes._run

    def counted(*arguments: Any) -> Any:
        looked_at.append(1)
        return run(*arguments)

    monkeypatch.setattr(wholes, "_run", counted)
    request = wide_graph(branches).request()
    assert peak_lower_bound(request) >= hungriest_stage(request)
    stages = len(request.stages)
    assert len(looked_at) <= min(BOUND_LOOKS * stages, MOST_BOUND_LOOKS) + stages


def test_a_graph_of_the_size_promised_is_exact():
    request = wide_graph(6).request()
    assert len(request.stages) == 13
    assert order_whole_stages(request).is_exact


def test_any_graph_of_the_size_promised_is_exact():
    """All 4,096 sets of twelve branches that may come in any order may have to be visited."""
    net = Net()
    x = net.input("x", 1, 1)
    ends = [net.dense(x, f"e{n}", 3 + n * n) for n in range(12)]
    net.pointwise(ends, "sum", 8, kind=Kind.OUTPUT)
    assert order_whole_stages(net.request()).is_exact


def test_layers_that_leave_as_much_as_they_free_do_not_widen_the_search():
    """With six lines of four such layers 15,625 sets could come next."""
    net = Net()
    x, ends = net.input("x", 1, 100), []
    for line in range(6):
        ends.append(x)
        for layer in range(4):
            ends[-1] = net.dense(ends[-1], f"l{line}.{layer}", 4)
    net.pointwise(ends, "sum", 4, kind=Kind.OUTPUT)
    assert order_whole_stages(net.request()).is_exact


def test_a_row_that_nobody_writes_is_named():
    tensors = (PlanTensor("x", 2, 4, Kind.INNER), PlanTensor("y", 1, 4, Kind.OUTPUT))
    stage = Stage("copy", ("x",), ("y",), (Step((Rows(0, 2),), (Rows(0, 1),)),))
    with pytest.raises(
        PlanError, match="stage 'copy' reads row 0 of tensor 'x', which no stage before it writes"
    ):
        make_plan(PlanRequest(tensors, (stage,)))


def test_rows_that_two_stages_write_together_wait_for_both():
    """A concatenation without a copy: each writer fills its columns of the same rows."""
    net = Net()
    x = net.input("x", 4, 8)
    y = net.tensor(Image("y", 4, 8))
    for half in ("left", "right"):
        steps = tuple(Step((Rows(n, n + 1),), (Rows(n, n + 1),)) for n in range(4))
        net.stages.append(Stage(half, (x.name,), (y.name,), steps))
    net.window(y, "z", 8, 3, kind=Kind.OUTPUT)
    request = net.request()
    plan = make_plan(request)
    check_plan(request, plan)
    sooner = (0, 2, 1)  # z before right
    early = tuple(sorted(plan.order, key=lambda number: sooner[number]))
    wrong = r"row 0 of tensor 'y' read by stage 'z' .* was written by stage 'left', not by stage 'right'"
    with pytest.raises(PlanError, match=wrong):
        check_plan(request, replace(plan, order=early))


def test_padding_only_stages_and_stages_that_read_nothing_are_planned():
    tensors = (PlanTensor("zeros", 3, 4, Kind.INNER), PlanTensor("y", 1, 4, Kind.OUTPUT))
    fill = Stage("fill", (), ("zeros",), tuple(Step((), (Rows(n, n + 1),)) for n in range(3)))
    read = Stage(
        "read", ("zeros",), ("y",), (Step((NO_ROWS,), (NO_ROWS,)), Step((Rows(0, 3),), (Rows(0, 1),)))
    )
    request = PlanRequest(tensors, (fill, read))
    check_plan(request, make_plan(request))


@pytest.mark.slow
def test_no_search_is_begun_that_cannot_come_to_its_end(monkeypatch):
    """A search that may visit 400,000 / 900 sets never gets through 900 stages."""
    monkeypatch.setattr(wholes, "_search", None)
    request = wide_graph(450).request()
    found = order_whole_stages(request)
    assert not found.is_exact
    assert sorted(found.stages) == list(range(len(request.stages)))


@pytest.mark.slow
def test_a_very_wide_graph_is_planned_with_bounded_work(monkeypatch):
    """Four hundred stages, half of which may be next at any time: a beam alone would look a million times."""
    runs: list[int] = []
    run = wholes._run

    def counted(*arguments: Any) -> Any:
        runs.append(1)
        return run(*arguments)

    monkeypatch.setattr(wholes, "_run", counted)
    request = wide_graph(200).request()
    check_plan(request, make_plan(request))
    assert len(runs) < 1.1 * (wholes.MOST_LOOKS + wholes.BEAM_LOOKS)


def residual(height: int, *channels: int) -> PlanRequest:
    """Blocks of two windows and a sum; all but the first have strides and a 1x1 convolution beside them."""
    net = Net()
    x = net.window(net.input("x", height, 12), "stem", channels[0], pad=1)
    for n, size in enumerate(channels):
        windows = net.window(x, f"a{n}", size, 3, stride=2 if n else 1, pad=1)
        windows = net.window(windows, f"b{n}", size, 3)
        beside = net.strided(x, f"beside{n}", size, 2) if n else x
        x = net.pointwise([windows, beside], f"sum{n}", pad=1 if size is not channels[-1] else 0)
    net.dense(net.pool(x, "pool", 8, 64), "y", 4, Kind.OUTPUT)
    return net.request()


def test_an_order_that_starts_worse_may_end_better():
    """Branches that run as soon as possible are best at first, but a cut helps more without that."""
    request = residual(16, 128, 32, 16)
    best, *_ = search_orders(number_steps(request), order_whole_stages(request))
    assert best.estimate == 1664
