"""The memory map says of every row where it is and when, and how much that is together."""

from __future__ import annotations

import pytest

from aot.plan.check import check_plan
from aot.plan.model import NO_ROWS, Kind, Plan, PlannedBuffer, PlanRequest, PlanTensor, Rows, Stage, Step
from artifact.facts import facts_of
from artifact.memory_map import BufferLife, MemoryMap, Span, map_memory
from codegen.model import CompiledModel


def row(n: int) -> tuple[Rows, ...]:
    return (Rows(n, n + 1),)


# "copy" fills a ring of two rows, "pair" adds two neighbours and keeps a state, "sum" keeps one to the end.
REQUEST = PlanRequest(
    tensors=(
        PlanTensor("in", 4, 8, Kind.INPUT),
        PlanTensor("ring", 4, 8, Kind.INNER),
        PlanTensor("pairs", 3, 8, Kind.INNER),
        PlanTensor("out", 1, 4, Kind.OUTPUT),
    ),
    stages=(
        Stage("copy", ("in",), ("ring",), tuple(Step(row(n), row(n)) for n in range(4))),
        Stage(
            "pair",
            ("ring",),
            ("pairs",),
            tuple(Step((Rows(n, n + 2),), row(n)) for n in range(3)),
            state_bytes=4,
        ),
        Stage(
            "sum",
            ("pairs",),
            ("out",),
            (*(Step(row(n), (NO_ROWS,)) for n in range(2)), Step(row(2), row(0))),
            state_bytes=4,
        ),
    ),
)
PLAN = Plan(
    order=(0, 0, 1, 2, 0, 1, 2, 0, 1, 2),
    buffers={
        "in": PlannedBuffer("in", "arena", 0, 4, 8, 0, 7),
        "ring": PlannedBuffer("ring", "arena", 32, 2, 8, 0, 8),
        "pairs": PlannedBuffer("pairs", "arena", 48, 1, 8, 2, 9),
        "out": PlannedBuffer("out", "arena", 0, 1, 4, 9, 9),
        "pair.state": PlannedBuffer("pair.state", "arena", 56, 1, 4, 2, 8),
        "sum.state": PlannedBuffer("sum.state", "arena", 60, 1, 4, 3, 9),
    },
    pool_bytes={"arena": 64},
    bound_bytes=48,
    is_least=True,
    peak_step=2,
)


@pytest.fixture(scope="module")
def memory() -> MemoryMap:
    check_plan(REQUEST, PLAN)
    return map_memory(REQUEST, PLAN, 72)


def lives(buffer: BufferLife) -> list[tuple[int, int, int]]:
    return [(span.row, span.first, span.last) for span in buffer.spans]


def test_rows_live_from_their_first_to_their_last_use(memory: MemoryMap) -> None:
    assert lives(memory.by_name["in"]) == [(0, 0, 0), (1, 0, 1), (2, 0, 4), (3, 0, 7)]
    assert lives(memory.by_name["ring"]) == [(0, 0, 2), (1, 1, 5), (2, 4, 8), (3, 7, 8)]
    assert lives(memory.by_name["pairs"]) == [(0, 2, 3), (1, 5, 6), (2, 8, 9)]
    assert lives(memory.by_name["out"]) == [(0, 9, 9)]


def test_state_lives_from_the_first_step_of_its_stage_to_the_last(memory: MemoryMap) -> None:
    assert lives(memory.by_name["pair.state"]) == [(0, 2, 8)]
    assert lives(memory.by_name["sum.state"]) == [(0, 3, 9)]
    assert [b.kind for b in memory.buffers] == ["input", "inner", "inner", "output", "sums", "sums"]


def test_rows_of_a_ring_come_round_to_the_same_addresses(memory: MemoryMap) -> None:
    ring = memory.by_name["ring"]
    assert ring.is_ring
    assert [span.address for span in ring.spans] == [32, 40, 32, 40]
    assert list(ring.spans)[2] == Span(2, 32, 8, 4, 8)


def test_a_tensor_that_is_held_whole_is_not_a_ring(memory: MemoryMap) -> None:
    assert not memory.by_name["in"].is_ring
    assert not memory.by_name["sum.state"].is_ring


def test_live_bytes_are_those_of_the_rows_that_are_needed(memory: MemoryMap) -> None:
    # in + ring + pairs + states + out, by step
    assert memory.live_bytes == (
        32 + 8,
        24 + 16,
        16 + 16 + 8 + 4,
        16 + 8 + 8 + 4 + 4,
        16 + 16 + 4 + 4,
        8 + 16 + 8 + 4 + 4,
        8 + 8 + 8 + 4 + 4,
        8 + 16 + 4 + 4,
        16 + 8 + 4 + 4,
        8 + 4 + 4,
    )
    assert (memory.peak_step, memory.peak_bytes) == (2, 44)


def test_what_is_there_at_the_peak_is_named_largest_first(memory: MemoryMap) -> None:
    assert memory.live_at(2) == (("in", 16), ("ring", 16), ("pairs", 8), ("pair.state", 4))


def test_a_row_written_in_place_counts_once() -> None:
    request = PlanRequest(
        tensors=(PlanTensor("in", 2, 8, Kind.INPUT), PlanTensor("out", 2, 8, Kind.OUTPUT)),
        stages=(
            Stage(
                "negate",
                ("in",),
                ("out",),
                tuple(Step(row(n), row(n)) for n in range(2)),
                in_place=((0, 0),),
            ),
        ),
    )
    buffers = {name: PlannedBuffer(name, "arena", 0, 2, 8, 0, 1) for name in ("in", "out")}
    plan = Plan((0, 0), buffers, {"arena": 16}, 16, 0)
    check_plan(request, plan)
    assert map_memory(request, plan, 0).live_bytes == (16, 16)


def test_rows_that_nobody_reads_take_no_place() -> None:
    request = PlanRequest(
        tensors=(PlanTensor("in", 3, 8, Kind.INPUT), PlanTensor("out", 1, 8, Kind.OUTPUT)),
        stages=(Stage("crop", ("in",), ("out",), (Step(row(1), row(0)),)),),
    )
    buffers = {
        "in": PlannedBuffer("in", "arena", 0, 3, 8, 0, 0),
        "out": PlannedBuffer("out", "arena", 0, 1, 8, 0, 0),
    }
    memory = map_memory(request, Plan((0,), buffers, {"arena": 24}, 24, 0), 32)
    assert lives(memory.by_name["in"]) == [(1, 0, 0)]
    assert memory.live_bytes == (16,)


def test_a_compiled_model_needs_at_least_its_bound_and_at_most_its_arena(compiled: CompiledModel) -> None:
    memory = facts_of(compiled).memory
    # The bound knows of rings that share no byte: it may lie above all that lives at once.
    assert max(compiled.plan.bound_bytes, memory.peak_bytes) <= memory.arena_bytes
    assert memory.arena_bytes == compiled.plan.arena_bytes
    assert any(buffer.is_ring for buffer in memory.buffers)
    assert {layer.output for layer in compiled.layers} <= memory.by_name.keys()
