"""How much is searched: as much as is told, so that large networks too are planned with care."""

import random
from typing import Any

import pytest
from plan_requests import Net
from test_floor import apart, packing_of
from test_order import wide_graph
from test_place import NO_OVERLAPS, TIMES, bound_of, make_intervals

from aot.plan import planner
from aot.plan.conflicts import forbidden_distances
from aot.plan.floor import placement_floor
from aot.plan.model import Kind, PlanRequest, Pool
from aot.plan.order import draft_given, order_by_demand, search_orders
from aot.plan.place import BlockPacking, place_in_sequences
from aot.plan.planner import make_plan
from aot.plan.steps import number_steps
from aot.plan.wholes import order_whole_stages, peak_lower_bound


def readers_of(rows: int, readers: int) -> PlanRequest:
    """Layers that each read all rows of one input in a step."""
    net = Net()
    x = net.input("x", rows, 1)
    for number in range(readers):
        net.dense(x, f"y{number}", 4, Kind.OUTPUT)
    net.tensors.append(net.tensors.pop(0))  # the input last: its rows count wherever it comes
    return net.request()


def line(layers: int) -> PlanRequest:
    net = Net()
    x = net.input("x", 1, 4)
    for number in range(layers):
        x = net.dense(x, f"y{number}", 4, Kind.OUTPUT if number == layers - 1 else Kind.INNER)
    return net.request()


def test_some_sixty_orders_of_twenty_thousand_rows_are_tried(monkeypatch):
    """So many that each of forty hints is."""
    tried: list[Any] = []

    def counted(steps: Any, hints: Any) -> Any:
        tried.append(hints)
        return order_by_demand(steps, hints)

    monkeypatch.setattr("aot.plan.order.order_by_demand", counted)
    request = readers_of(rows=20_000, readers=20)
    search_orders(number_steps(request), order_whole_stages(request, 1))
    assert 40 < len(tried) <= 60


class Asked(Exception):  # noqa: N818  # no error: the search is left
    """Raised with the orders that would be placed."""


@pytest.mark.parametrize(
    ("request_", "orders"),
    [
        (readers_of(rows=20_000, readers=2), 8),
        (readers_of(rows=300_000, readers=2), 3),
        (line(layers=300), 8),
        (line(layers=1_200), 2),
    ],
    ids=["many rows", "very many rows", "many tensors", "very many tensors"],
)
def test_as_many_of_the_best_orders_are_placed_as_told(request_, orders, monkeypatch):
    """Beside the order that was given."""

    def asked(_: Any, drafts: list[Any], __: Any) -> None:
        raise Asked(len(drafts) - 1)

    monkeypatch.setattr(planner, "search_orders", lambda steps, _: [draft_given(steps)] * 20)
    monkeypatch.setattr(planner, "order_whole_stages", lambda _: None)
    monkeypatch.setattr(planner, "_worth_care", asked)
    with pytest.raises(Asked) as raised:
        make_plan(request_)
    assert raised.value.args == (orders,)


@pytest.mark.parametrize(("seed", "least_bytes"), [(2, 484), (3, 505)])
def test_the_floor_of_a_hundred_blocks_is_as_high_as_it_was(seed, least_bytes):
    """Fewer nodes of a search tree, and fewer looks in all of them, would give a lower one."""
    draw, count = random.Random(seed), 100
    sizes = tuple(draw.randint(10, 60) for _ in range(count))
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count) if draw.random() < 0.6]
    packing = packing_of(sizes, {(a, b): apart(sizes[a], sizes[b]) for a, b in pairs})
    assert placement_floor(packing) >= least_bytes


def test_the_largest_areas_first_leave_no_gap():
    """Bytes times moments of each block: none of the other sequences places these without a search."""
    blocks = make_intervals(17)
    packing = BlockPacking(blocks, forbidden_distances(blocks, NO_OVERLAPS, TIMES), (Pool("arena"),))
    assert place_in_sequences(packing).cost == (0, 0, bound_of(blocks))


def test_a_bound_counts_the_branches_of_a_small_graph():
    assert peak_lower_bound(wide_graph(6).request()) >= 87


def test_a_bound_looks_far_into_a_tangle_of_forty_layers():
    assert peak_lower_bound(tangle(3, 40)) >= 410


def tangle(seed: int, layers: int) -> PlanRequest:
    """Layers that read one or two of those before, mostly the newest."""
    draw, net = random.Random(seed), Net()
    images = [net.input("x", 1, draw.randint(1, 60))]
    for number in range(layers):
        sources = [images[-1] if draw.random() < 0.5 else draw.choice(images)]
        if draw.random() < 0.5:
            sources.append(draw.choice(images))
        sources = list({source.name: source for source in sources}.values())
        images.append(net.pointwise(sources, f"t{number}", draw.randint(1, 60)))
    read = {name for stage in net.stages for name in stage.reads}
    net.pointwise([image for image in images if image.name not in read], "y", 8, kind=Kind.OUTPUT)
    return net.request()


@pytest.mark.parametrize(("branches", "most_bytes"), [(12, 150), (45, 495)])
def test_where_an_exact_search_gives_up_a_beam_still_finds_a_good_order(branches, most_bytes):
    """With 45 branches it looks at almost 100,000 stages."""
    assert order_whole_stages(wide_graph(branches).request(), most_sets=1).peak_bytes <= most_bytes
