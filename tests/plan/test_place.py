"""Placement: close to the lower bound on random sets of intervals, right with pools, alignment, in place."""

import random
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from error_facts import refused
from plan_requests import Net

from aot.errors import FitError
from aot.plan.check import PlanError, check_plan
from aot.plan.conflicts import forbidden_distances
from aot.plan.model import Kind, PlannedBuffer, PlanRequest, Pool
from aot.plan.place import (
    BlockPacking,
    improve,
    place_again,
    place_around,
    place_in_sequences,
    place_no_lower,
)
from aot.plan.planner import make_plan
from aot.plan.rings import AllowedOverlaps, Block

TIMES = 40
NO_OVERLAPS = AllowedOverlaps(*[np.zeros(0, np.int64)] * 4)


def make_intervals(seed: int) -> list[Block]:
    """Blocks of one position, alive from one random moment to another."""
    chance = random.Random(seed)
    blocks = []
    for number in range(chance.randint(5, 40)):
        first = chance.randrange(TIMES)
        last = min(first + chance.choice((0, 1, 2, 3, 5, 8, 20)), TIMES - 1)
        size = 4 * chance.randint(1, 250)
        blocks.append(
            Block(f"b{number}", 1, size, 4, np.zeros(1, np.int64), np.array([first]), np.array([last]))
        )
    return blocks


@pytest.mark.slow
def test_what_a_search_keeps_is_where_putting_everything_down_again_puts_it():
    """In one pool and in three that are too small."""
    for seed in range(20):
        blocks = make_intervals(seed)
        for pools in ((Pool("arena"),), tuple(Pool(name, 600) for name in "abc")):
            packing = BlockPacking(blocks, forbidden_distances(blocks, NO_OVERLAPS, TIMES), pools)
            found = improve(packing, place_in_sequences(packing), 0, trials=200)
            assert packing.place_all(found.sequence) == found


def packing_of(seed: int) -> BlockPacking:
    blocks = make_intervals(seed)
    return BlockPacking(blocks, forbidden_distances(blocks, NO_OVERLAPS, TIMES), (Pool("arena"),))


def test_blocks_are_put_down_again_in_the_order_of_their_places_and_new_ones_last():
    packing = packing_of(0)
    offsets = {block.name: 1000 - number for number, block in enumerate(packing.blocks) if number % 3}
    before = [n for n in reversed(range(len(packing.blocks))) if n % 3]
    new = sorted(set(range(len(packing.blocks))) - set(before), key=lambda n: -packing.sizes[n])
    assert place_again(packing, offsets).sequence == (*before, *new)
    assert place_no_lower(packing, offsets).sequence == (*before, *new)


@pytest.mark.parametrize("seed", range(5))
def test_blocks_that_did_not_change_stay_where_they_were(seed):
    """Wherever that was: here there are gaps below most of them."""
    packing = packing_of(seed)
    least = place_in_sequences(packing)
    spread = packing.place_above(least.sequence, [2 * offset for offset in least.offsets])
    kept = {block.name: offset for block, offset in zip(packing.blocks, spread.offsets, strict=True)}
    again = place_no_lower(packing, kept)
    assert again.offsets == spread.offsets
    assert again.ends > place_again(packing, kept).ends


@pytest.mark.parametrize("seed", range(5))
def test_blocks_of_the_same_size_keep_their_buffers_and_larger_ones_go_around_them(seed):
    """In the sequence of earlier offsets, the larger one would push all the blocks after it."""
    packing = packing_of(seed)
    spread = packing.place_above(range(len(packing.blocks)), [40 * n for n in range(len(packing.blocks))])
    grown = min(range(len(packing.blocks)), key=lambda n: spread.offsets[n])
    buffers = {
        block.name: PlannedBuffer(
            block.name, "arena", offset, block.positions, block.position_bytes - (n == grown), 0, 0
        )
        for n, (block, offset) in enumerate(zip(packing.blocks, spread.offsets, strict=True))
    }
    around = place_around(packing, buffers)
    kept = [n for n in range(len(packing.blocks)) if n != grown]
    assert [around.offsets[n] for n in kept] == [spread.offsets[n] for n in kept]
    assert around.sequence[-1] == grown


def test_of_few_blocks_no_sequence_is_better_and_none_behind_the_bound_is_tried():
    for seed in range(60):
        blocks = make_intervals(seed)[: 2 + seed % 4]
        for pools in ((Pool("arena"),), (Pool("a", 600), Pool("b", 900))):
            packing = BlockPacking(blocks, forbidden_distances(blocks, NO_OVERLAPS, TIMES), pools)
            all_placed = [packing.place_all(sequence) for sequence in permutations(range(len(blocks)))]
            best, *_, worst = sorted(all_placed, key=lambda placement: placement.cost)
            assert improve(packing, worst, 0, trials=0).cost == best.cost
            assert improve(packing, best, 0, trials=0) is best
            if worst.cost[:2] == (0, 0):
                assert improve(packing, worst, worst.cost[2], trials=0) is worst


def test_a_buffer_goes_to_a_pool_that_its_users_reach_though_a_faster_one_has_room():
    net = Net()
    y = net.window(net.input("x", 6, 8), "y", 8, 3)
    net.window(y, "z", 8, 3, kind=Kind.OUTPUT)
    request = net.request(pools=(Pool("tcm", 4096), Pool("sram", 4096)))
    only = frozenset({"sram"})
    tensors = tuple(replace(t, pools=only) if t.name == "y" else t for t in request.tensors)
    stages = tuple(replace(s, scratch_bytes=64, pools=only) if s.name == "z" else s for s in request.stages)
    request = replace(request, tensors=tensors, stages=stages)
    plan = make_plan(request)
    check_plan(request, plan)
    assert {name: buffer.pool for name, buffer in plan.buffers.items()} == {
        "x": "tcm",
        "y": "sram",
        "z": "tcm",
        "z.scratch": "sram",
    }


def test_a_pool_that_a_buffer_must_lie_in_and_that_is_too_small_is_refused():
    net = Net()
    net.window(net.input("x", 6, 80), "y", 80, 3, kind=Kind.OUTPUT)
    request = net.request(pools=(Pool("tcm", 4096), Pool("sram", 100)))
    tensors = tuple(replace(t, pools=frozenset({"sram"})) for t in request.tensors)
    with pytest.raises(FitError, match=r"460 more bytes needed, pool 'tcm' has 4,096, pool 'sram' has 100"):
        make_plan(replace(request, tensors=tensors))


def test_scratch_of_stages_that_never_run_together_shares_its_bytes():
    net = Net()
    y = net.window(net.input("x", 6, 8), "y", 8, 3)
    net.window(y, "z", 8, 3, kind=Kind.OUTPUT)
    request = net.request()
    alone = make_plan(request).arena_bytes
    plan = make_plan(replace(request, stages=tuple(replace(s, scratch_bytes=100) for s in request.stages)))
    assert alone + 100 <= plan.arena_bytes < alone + 110


def bound_of(blocks: list[Block]) -> int:
    live = np.zeros(TIMES, np.int64)
    for block in blocks:
        live[block.first[0] : block.last[0] + 1] += block.bytes
    return int(live.max())


@pytest.mark.slow
def test_random_intervals_are_placed_within_one_percent_of_the_bound():
    excess = []
    for seed in range(300):
        blocks = make_intervals(seed)
        packing = BlockPacking(blocks, forbidden_distances(blocks, NO_OVERLAPS, TIMES), (Pool("arena"),))
        found = improve(packing, place_in_sequences(packing), bound_of(blocks), trials=400)
        excess.append(found.cost[-1] / bound_of(blocks) - 1)
        assert_disjoint(blocks, found.offsets)
    assert sum(excess) / len(excess) < 0.01


def assert_disjoint(blocks: list[Block], offsets: tuple[int, ...]) -> None:
    owner = np.zeros((max(o + b.bytes for o, b in zip(offsets, blocks, strict=True)), TIMES), np.bool_)
    for block, offset in zip(blocks, offsets, strict=True):
        place = owner[offset : offset + block.bytes : 4, block.first[0] : block.last[0] + 1]
        assert not place.any()
        place[:] = True


def line(*row_bytes: int, rows: int = 8, in_place: bool = False) -> Net:
    """A chain of elementwise layers; the last is the output."""
    net = Net()
    x = net.input("x", rows, row_bytes[0])
    for n, size in enumerate(row_bytes[1:], 1):
        kind = Kind.OUTPUT if n == len(row_bytes) - 1 else Kind.INNER
        x = net.pointwise([x], f"y{n}", size, in_place=in_place, kind=kind)
    return net


@pytest.mark.parametrize("rows", [True, False])
def test_elementwise_layers_work_in_place_where_they_may(rows):
    request = line(16, 16, 16, in_place=True).request(rows)
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.arena_bytes == plan.bound_bytes == 8 * 16
    assert plan.buffers["x"].offset == plan.buffers["y2"].offset == 0


def test_without_leave_no_row_is_written_on_a_row_read_in_the_same_step():
    request = line(16, 16, 16).request()
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.arena_bytes > 8 * 16


def test_the_checker_accepts_in_place_only_where_it_is_declared():
    plan = make_plan(line(16, 16, in_place=True).request())
    with pytest.raises(
        PlanError, match=r"row 0 of tensor 'x' read by stage 'y1' .step 0. was overwritten by row 0 of"
    ):
        check_plan(line(16, 16).request(), plan)


def test_rows_of_one_byte_are_written_in_place():
    request = line(1, 1, rows=1, in_place=True).request()
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.arena_bytes == 1


def test_rows_of_another_size_are_never_in_place():
    request = line(16, 12, in_place=True).request()
    check_plan(request, make_plan(request))


def test_a_row_that_is_read_again_is_not_written_in_place():
    net = Net()
    x = net.input("x", 6, 16)
    y = net.pointwise([x], "y", in_place=True)
    net.pointwise([y, x], "z", kind=Kind.OUTPUT)
    request = net.request(rows=False)
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.buffers["y"].offset != plan.buffers["x"].offset


def test_a_row_of_an_input_that_nobody_reads_lies_on_no_other_input():
    """The application fills both before the run."""
    net = Net()
    y = net.strided(net.input("x", 5, 40), "y", 4, 2)
    net.pointwise([y, net.input("other", 2, 36)], "z", 4, kind=Kind.OUTPUT)
    request = net.request()
    plan = make_plan(request)
    check_plan(request, plan)
    x, other = plan.buffers["x"], plan.buffers["other"]
    assert x.offset + x.bytes <= other.offset or other.offset + other.bytes <= x.offset


def test_blocks_that_meet_late_in_a_long_run_lie_apart():
    """Three of five thousand moments count as one."""
    lives = ((3_000, 4_000), (3_500, 4_500), (4_600, 4_700))
    each = [(np.asarray([first]), np.asarray([last])) for first, last in lives]
    blocks = [Block(f"b{n}", 1, 40, 4, np.zeros(1, np.int64), *life) for n, life in enumerate(each)]
    apart = ((-39, 39),)
    assert forbidden_distances(blocks, NO_OVERLAPS, 5_000) == [{1: apart}, {0: apart}, {}]


def test_alignment_is_kept():
    request = line(3, 5, 7, 9).request()
    tensors = tuple(replace(t, align=16) for t in request.tensors)
    request = replace(request, tensors=tensors)
    plan = make_plan(request)
    check_plan(request, plan)
    assert all(buffer.offset % 16 == 0 for buffer in plan.buffers.values())


def in_pools(request: PlanRequest, *pools: Pool) -> PlanRequest:
    return replace(request, pools=pools)


def test_the_fastest_pool_is_filled_first():
    request = in_pools(line(16, 64, 16).request(), Pool("fast", 160), Pool("slow", 1000))
    plan = make_plan(request)
    check_plan(request, plan)
    assert 0 < plan.pool_bytes["fast"] <= 160
    assert {buffer.pool for buffer in plan.buffers.values()} == {"fast"} or plan.pool_bytes["slow"] > 0


def test_what_is_used_most_for_its_size_comes_first():
    """Ten small buffers used 200 times each are worth more than one of their size used 1,000 times."""
    once = np.zeros(1, np.int64)
    sizes_and_uses = [(100, 1_000), *[(10, 200)] * 10]
    blocks = [Block(f"b{n}", 1, size, 1, once, once, once, u) for n, (size, u) in enumerate(sizes_and_uses)]
    pools = Pool("fast", 100), Pool("slow")
    packing = BlockPacking(blocks, forbidden_distances(blocks, NO_OVERLAPS, TIMES), pools)
    assert place_in_sequences(packing).pools == (1, *[0] * 10)


def test_what_does_not_fit_the_first_pool_goes_to_the_second():
    request = in_pools(line(16, 64, 16).request(), Pool("fast", 100), Pool("slow"))
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.buffers["x"].pool == "slow"
    assert plan.pool_bytes["fast"] <= 100


def test_a_pool_of_exactly_the_size_is_enough():
    request = line(16, 64, 16).request()
    needed = make_plan(request).arena_bytes
    make_plan(in_pools(request, Pool("ram", needed)))


def test_one_byte_less_than_needed_says_how_much_is_missing_and_which_stage_is_at_the_peak():
    request = line(16, 64, 16).request()
    needed = make_plan(request).arena_bytes
    refused(
        lambda: make_plan(in_pools(request, Pool("ram", needed - 1))),
        "1 'ram' 191 arena more bytes 'y1' 192 'x'",
        FitError,
    )


def test_several_small_pools_are_all_named_when_nothing_fits():
    request = in_pools(line(16, 64, 16).request(), Pool("fast", 100), Pool("slow", 100))
    with pytest.raises(FitError, match=r"28 more bytes needed, pool 'fast' has 100, pool 'slow' has 100"):
        make_plan(request)


@pytest.mark.parametrize("rows", [True, False])
def test_tensors_of_thousands_of_rows_are_placed_in_coarser_steps(rows):
    net = Net()
    x = net.window(net.input("sound", 6000, 2), "frames", 16, 40, 20)
    net.dense(net.pool(x, "pool", 4, state=16), "out", 4, Kind.OUTPUT)
    request = net.request(rows)
    plan = make_plan(request)
    check_plan(request, plan)
    assert plan.arena_bytes < 12_100 if rows else plan.arena_bytes < 17_000
