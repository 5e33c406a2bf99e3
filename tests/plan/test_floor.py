"""The floor under all placements: never above the least, and reached where rings turn together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from plan_requests import resnet8
from test_exact import windows

from aot.plan.conflicts import Spans
from aot.plan.exact import solve_placement
from aot.plan.floor import placement_floor
from aot.plan.model import Pool
from aot.plan.place import BlockPacking, improve, place_in_sequences
from aot.plan.planner import make_plan
from aot.plan.rings import Block
from aot.plan.wholes import peak_lower_bound

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


def test_blocks_that_share_no_byte_take_their_sum() -> None:
    sizes = (40, 30, 20, 50)
    wrong = {(a, b): apart(sizes[a], sizes[b]) for a, b in ((0, 1), (0, 2), (1, 2), (2, 3))}
    assert placement_floor(packing_of(sizes, wrong)) == 40 + 30 + 20
    wrong[1, 3] = apart(30, 50)
    assert placement_floor(packing_of(sizes, wrong)) == 30 + 20 + 50


def test_the_rest_of_a_block_counts_whose_begin_others_may_cover() -> None:
    """An input of 100 bytes: a ring of 30 may reach 20 bytes into it from below, one of 50 ten bytes."""
    sizes = (100, 30, 50)
    wrong = {(0, 1): ((-9, 99),), (0, 2): ((-39, 99),), (1, 2): apart(30, 50)}
    packing = packing_of(sizes, wrong)
    assert placement_floor(packing) == 80 + 30 + 50
    assert improve(packing, place_in_sequences(packing), 160, trials=50).cost[-1] == 160


def test_the_rest_of_a_block_counts_whose_end_others_may_cover() -> None:
    packing = packing_of((100, 30, 50), {(0, 1): ((-29, 79),), (0, 2): ((-49, 89),), (1, 2): apart(30, 50)})
    assert placement_floor(packing) == 80 + 30 + 50


def test_a_block_that_may_lie_in_the_middle_of_another_excludes_nothing() -> None:
    assert placement_floor(packing_of((100, 30), {(0, 1): ((-29, 9), (50, 99))})) == 100


@pytest.mark.parametrize("rows", [(20, 8, 48, 28, 32), (36, 32, 32, 36, 40), (8, 8, 8), (12, 40, 4, 4, 24)])
def test_no_placement_that_a_solver_proves_least_is_below_the_floor(
    rows: tuple[int, ...], require_package: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_network_of_rings_is_proven_least_without_a_solver() -> None:
    request = resnet8()
    plan = make_plan(request)
    assert plan.is_least
    assert plan.arena_bytes == plan.bound_bytes < peak_lower_bound(request)
