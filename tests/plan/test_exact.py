"""The exact planner proves the search's placements or improves them, and says which."""

import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from plan_requests import Net, autoencoder
from random_nets import requests
from test_place import NO_OVERLAPS, TIMES, bound_of, make_intervals

from aot.errors import ToolError
from aot.plan.check import check_plan
from aot.plan.conflicts import Spans, forbidden_distances
from aot.plan.floor import solve_placement
from aot.plan.model import Kind, PlanRequest, Pool
from aot.plan.place import BlockPacking, improve
from aot.plan.planner import make_plan


def packing_of(seed: int) -> tuple[BlockPacking, int]:
    blocks = make_intervals(seed)[:14]
    return BlockPacking(blocks, forbidden_distances(blocks, NO_OVERLAPS, TIMES), (Pool("arena"),)), bound_of(
        blocks
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_what_the_solver_proves_to_be_least(seed, require_package):
    require_package("ortools")
    packing, bound = packing_of(seed)
    careless = packing.place_all(range(len(packing.blocks)))
    assert careless is not None
    searched = improve(packing, careless, bound, trials=400)
    solved, is_proven = solve_placement(packing, replace(careless, ends=(careless.ends[0] + 4,)), bound)
    assert is_proven
    assert bound <= solved.cost[-1] == searched.cost[-1]


def test_two_blocks_may_lie_at_the_only_right_distance_between_wrong_ones(require_package):
    require_package("ortools")
    blocks = [replace(block, position_bytes=10, align=1) for block in make_intervals(0)[:2]]
    forbidden: list[dict[int, Spans]] = [{1: ((-9, 4), (6, 9))}, {0: ((-9, -6), (-4, 9))}]
    packing = BlockPacking(blocks, forbidden, (Pool("arena"),))
    placed = packing.place_all(range(2))
    solved, is_proven = solve_placement(packing, replace(placed, ends=(20,)), 0)
    assert (solved.ends, is_proven) == ((15,), True)


@pytest.mark.slow
@settings(max_examples=12)
@given(requests(most_steps=6))
def test_an_exact_plan_is_right_and_never_larger(request):
    pytest.importorskip("ortools")
    searched, exact = make_plan(request), make_plan(request, exact=True)
    check_plan(request, exact)
    assert exact.arena_bytes <= searched.arena_bytes
    assert exact.order == searched.order
    if exact.arena_bytes < searched.arena_bytes:
        assert not searched.is_least


def test_a_placement_at_the_bound_needs_no_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    plan = make_plan(autoencoder(), exact=True)
    assert plan.arena_bytes == plan.bound_bytes
    assert plan.is_least


def windows(height: int, *row_bytes: int) -> PlanRequest:
    """A chain of 3x3 windows: rings move as one, so that not all that is free at a time can be used."""
    net = Net()
    x = net.input("x", height, row_bytes[0])
    for number, size in enumerate(row_bytes[1:]):
        x = net.window(x, f"t{number}", size, 3, pad=1)
    net.dense(x, "out", 4, Kind.OUTPUT)
    return net.request()


def test_a_plan_above_the_bound_is_proven_by_the_solver(require_package):
    require_package("ortools")
    plan, exact = make_plan(PROVEN), make_plan(PROVEN, exact=True)
    assert plan.arena_bytes == exact.arena_bytes > plan.bound_bytes
    assert (plan.is_least, exact.is_least) == (False, True)


def test_a_plan_that_the_search_left_too_large_is_improved(require_package):
    require_package("ortools")
    plan, exact = make_plan(IMPROVED), make_plan(IMPROVED, exact=True)
    check_plan(IMPROVED, exact)
    assert exact.arena_bytes < plan.arena_bytes
    assert exact.is_least


def test_where_the_solver_does_not_come_to_its_end_the_search_is_believed(require_package, monkeypatch):
    """It has some fifteen seconds for that: a tenth would leave many plans of -O3 as the search made them."""
    require_package("ortools")
    from ortools.sat.python import cp_model

    given: list[float] = []

    def unknown(self: Any, _: Any) -> Any:
        given.append(self.parameters.max_deterministic_time)
        return cp_model.UNKNOWN

    monkeypatch.setattr(cp_model.CpSolver, "solve", unknown)
    assert make_plan(IMPROVED, exact=True) == make_plan(IMPROVED)
    assert given == [15]


def test_without_the_package_the_exact_planner_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(ToolError, match="needs the Python package ortools") as raised:
        make_plan(PROVEN, exact=True)
    assert raised.value.hint == "pip install 'solder-mcu[exact]'"


PROVEN = windows(6, 20, 8, 48, 28, 32)
IMPROVED = windows(8, 36, 32, 32, 36, 40)
