"""Lower bounds of memory: never above the least, reached where rings turn together, reported."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, compiled
from plan_requests import resnet8
from test_exact import windows

from aot.ir.text import parse_graph
from aot.plan.conflicts import Spans
from aot.plan.floor import placement_floor, solve_placement
from aot.plan.model import Pool
from aot.plan.place import BlockPacking, improve, place_in_sequences
from aot.plan.planner import make_plan
from aot.plan.rings import Block
from aot.plan.wholes import peak_lower_bound, whole_tensor_bound
from artifact.facts import ModelFacts, facts_of
from artifact.memory_svg import draw_memory_svg
from artifact.report import make_report
from deploy.inspection.inspect_page import summary

ONCE = np.zeros(1, np.int64)


def packing_of(sizes: tuple[int, ...], wrong: dict[tuple[int, int], Spans]) -> BlockPacking:
    """`wrong[a, b]`: distances `offset of b - offset of a` that are wrong."""
    blocks = [Block(f"b{n}", 1, size, 1, ONCE, ONCE, ONCE) for n, size in enumerate(sizes)]
    forbidden: list[dict[int, Spans]] = [{} for _ in sizes]
    for (a, b), spans in wrong.items():
        forbidden[a][b] = spans
        forbidden[b][a] = tuple((-last, -first) for first, last in reversed(spans))
    return BlockPacking(blocks, forbidden, (Pool("arena"),))


def apart(one: int, other: int) -> Spans:
    return ((1 - other, one - 1),)


def test_blocks_that_share_no_byte_take_their_sum():
    sizes = (40, 30, 20, 50)
    wrong = {(a, b): apart(sizes[a], sizes[b]) for a, b in ((0, 1), (0, 2), (1, 2), (2, 3))}
    assert placement_floor(packing_of(sizes, wrong)) == 40 + 30 + 20
    wrong[1, 3] = apart(30, 50)
    assert placement_floor(packing_of(sizes, wrong)) == 30 + 20 + 50


def test_the_rest_of_a_block_counts_whose_begin_others_may_cover():
    """An input of 100 bytes: a ring of 30 may reach 20 bytes into it from below, one of 50 ten bytes."""
    sizes = (100, 30, 50)
    wrong = {(0, 1): ((-9, 99),), (0, 2): ((-39, 99),), (1, 2): apart(30, 50)}
    packing = packing_of(sizes, wrong)
    assert placement_floor(packing) == 80 + 30 + 50
    assert improve(packing, place_in_sequences(packing), 160, trials=50).cost[-1] == 160


def test_the_rest_of_a_block_counts_whose_end_others_may_cover():
    packing = packing_of((100, 30, 50), {(0, 1): ((-29, 79),), (0, 2): ((-49, 89),), (1, 2): apart(30, 50)})
    assert placement_floor(packing) == 80 + 30 + 50


def test_a_block_that_may_lie_in_the_middle_of_another_excludes_nothing():
    assert placement_floor(packing_of((100, 30), {(0, 1): ((-29, 9), (50, 99))})) == 100


@pytest.mark.parametrize("rows", [(20, 8, 48, 28, 32), (36, 32, 32, 36, 40), (8, 8, 8), (12, 40, 4, 4, 24)])
def test_no_placement_that_a_solver_proves_least_is_below_the_floor(rows, require_package, monkeypatch):
    require_package("ortools")
    packings: list[BlockPacking] = []

    def looked_at(packing: BlockPacking) -> int:
        packings.append(packing)
        return placement_floor(packing)

    monkeypatch.setattr("aot.plan.planner.placement_floor", looked_at)
    make_plan(windows(6, *rows))
    for packing in packings[:4]:
        least, is_proven = solve_placement(packing, place_in_sequences(packing), 0)
        assert is_proven
        assert placement_floor(packing) <= least.cost[-1]


def test_a_network_of_rings_is_proven_least_without_a_solver():
    request = resnet8()
    plan = make_plan(request)
    assert plan.is_least
    assert plan.arena_bytes == plan.bound_bytes < peak_lower_bound(request)


GRAPH = """\
graph "g"
input "x": i8[1,2] {1.0, 0}
constant "a": i8[2] {0.5, 0} = [3, -4]
"flat" = reshape(shape=[1, 2]) "a" -> "b": i8[1,2] {0.5, 0}
"twice" = add() "b", "b" -> "c": i8[1,2] {0.5, 0}
"sum" = add() "x", "c" -> "y": i8[1,2] {1.0, 0}
output "y"
"""


def test_what_is_computed_from_constants_alone_takes_no_memory():
    assert whole_tensor_bound(parse_graph(GRAPH)) == 4


def test_inputs_and_outputs_count_where_they_are_not_apart():
    graph = parse_graph(GRAPH)
    assert (whole_tensor_bound(graph), whole_tensor_bound(graph, caller_owns_io=True)) == (4, 0)


def test_a_compile_does_not_look_for_it(monkeypatch):
    calls: list[bool] = []
    monkeypatch.setattr("codegen.compile.whole_tensor_bound", lambda _, is_owned: calls.append(is_owned) or 7)  # type: ignore[func-returns-value]
    model = compiled(GRAPHS["residual"](), DSP, OPTIONS["speed"], "m")
    assert model.sources
    assert calls == []
    assert (model.whole_tensor_bound_bytes, model.whole_tensor_bound_bytes, calls) == (7, 7, [False])


def facts_with_bound(above_arena: int) -> ModelFacts:
    facts = facts_of(compiled(GRAPHS["residual"](), DSP, OPTIONS["speed"], "m"))
    bound = facts.arena_bytes + above_arena
    return replace(facts, memory=replace(facts.memory, whole_tensor_bound_bytes=bound))


def test_it_is_reported_as_a_bound():
    facts = facts_with_bound(1)
    said = f"; whole tensors need at least {facts.arena_bytes + 1:,}"
    assert summary(make_report(facts), None).endswith(said)
    assert f"bytes of arena{said}" in draw_memory_svg(facts)


@pytest.mark.parametrize("above_arena", [0, -1])
def test_a_bound_that_is_no_higher_than_the_arena_is_not_told(above_arena):
    facts = facts_with_bound(above_arena)
    assert "whole tensors" not in summary(make_report(facts), None)
    assert "whole tensors" not in draw_memory_svg(facts)
