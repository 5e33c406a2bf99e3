"""The memory map: where each row is and when, and how it is drawn as text and as a picture."""

import re
from dataclasses import replace
from math import dist
from xml.etree import ElementTree

import pytest

from aot.plan.check import check_plan
from aot.plan.model import NO_ROWS, Kind, Plan, PlannedBuffer, PlanRequest, PlanTensor, Rows, Stage, Step
from artifact.facts import facts_of
from artifact.memory_map import BufferLife, MemoryMap, Span, draw_memory, map_memory, rows_text, shortened
from artifact.memory_svg import draw_memory_svg


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
def memory():
    check_plan(REQUEST, PLAN)
    return map_memory(REQUEST, PLAN, 72)


def lives(buffer: BufferLife) -> list[tuple[int, int, int]]:
    return [(span.row, span.first, span.last) for span in buffer.spans]


def test_rows_live_from_their_first_to_their_last_use(memory):
    assert lives(memory.by_name["in"]) == [(0, 0, 0), (1, 0, 1), (2, 0, 4), (3, 0, 7)]
    assert lives(memory.by_name["ring"]) == [(0, 0, 2), (1, 1, 5), (2, 4, 8), (3, 7, 8)]
    assert lives(memory.by_name["pairs"]) == [(0, 2, 3), (1, 5, 6), (2, 8, 9)]
    assert lives(memory.by_name["out"]) == [(0, 9, 9)]


def test_state_lives_from_the_first_step_of_its_stage_to_the_last(memory):
    assert lives(memory.by_name["pair.state"]) == [(0, 2, 8)]
    assert lives(memory.by_name["sum.state"]) == [(0, 3, 9)]
    assert [b.kind for b in memory.buffers] == ["input", "inner", "inner", "output", "sums", "sums"]


def test_rows_of_a_ring_come_round_to_the_same_addresses(memory):
    ring = memory.by_name["ring"]
    assert ring.is_ring
    assert [span.address for span in ring.spans] == [32, 40, 32, 40]
    assert list(ring.spans)[2] == Span(2, 32, 8, 4, 8)


def test_a_tensor_that_is_held_whole_is_not_a_ring(memory):
    assert not memory.by_name["in"].is_ring
    assert not memory.by_name["sum.state"].is_ring


def test_live_bytes_are_those_of_the_rows_that_are_needed(memory):
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


def test_what_is_there_at_the_peak_is_named_largest_first(memory):
    assert memory.live_at(2) == (("in", 16), ("ring", 16), ("pairs", 8), ("pair.state", 4))


def test_a_row_written_in_place_counts_once():
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


def test_rows_that_nobody_reads_take_no_place():
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


def test_a_compiled_model_needs_at_least_its_bound_and_at_most_its_arena(compiled):
    memory = facts_of(compiled).memory
    # The bound knows of rings that share no byte: it may lie above all that lives at once.
    assert max(compiled.plan.bound_bytes, memory.peak_bytes) <= memory.arena_bytes
    assert memory.arena_bytes == compiled.plan.arena_bytes
    assert any(buffer.is_ring for buffer in memory.buffers)
    assert {layer.output for layer in compiled.layers} <= memory.by_name.keys()


SVG = "{http://www.w3.org/2000/svg}"
MEMORY = MemoryMap(
    order=(0, 0, 1, 0, 1, 0, 1, 2),
    pool_bytes={"arena": 1400},
    bound_bytes=1200,
    whole_tensor_bound_bytes=2000,
    is_least=True,
    buffers=(
        BufferLife("image", "input", "arena", 0, 200, 4, 4, 0, 5, (0, 1, 2, 3), (0, 0, 0, 0), (0, 1, 3, 5)),
        BufferLife(
            "conv/Relu", "inner", "arena", 800, 100, 4, 2, 0, 6, (0, 1, 2, 3), (0, 1, 3, 5), (2, 4, 6, 6)
        ),
        BufferLife("pool/Max", "inner", "arena", 1000, 100, 3, 3, 2, 7, (0, 1, 2), (2, 4, 6), (7, 7, 7)),
        BufferLife("label", "output", "arena", 0, 12, 1, 1, 7, 7, (0,), (7,), (7,)),
    ),
)


def test_the_text_has_a_bar_for_what_is_needed():
    assert draw_memory(MEMORY).splitlines() == [
        "8 rows are computed, from left to right. A bar is the share of a buffer that is needed.",
        "                           bytes       at",
        "image        |█▆▄▄▂▂  |      800        0  4 rows",
        "conv/Relu    |▄██████ |      200      800  ring of 2 of 4 rows",
        "pool/Max     |  ▃▃▆▆██|      300    1,000  3 rows",
        "label        |       █|       12        0  whole",
        "all together |▆▅▄▄▄▄▃▂|    1,400           arena",
        "              ▲ peak: 900 bytes",
    ]


def test_each_of_several_memories_is_drawn_by_itself():
    buffers = [
        replace(buffer, pool="SRAM" if buffer.name == "image" else "DTCM") for buffer in MEMORY.buffers
    ]
    memory = replace(MEMORY, pool_bytes={"DTCM": 600, "SRAM": 800}, buffers=tuple(buffers))
    assert draw_memory(memory).splitlines()[1:] == [
        "",
        "in DTCM                    bytes       at",
        "conv/Relu    |▄██████ |      200      800  ring of 2 of 4 rows",
        "pool/Max     |  ▃▃▆▆██|      300    1,000  3 rows",
        "label        |       █|       12        0  whole",
        "all together |▂▃▄▄▆▆▇▅|      600           arena",
        "    peak: 500 bytes ▲",
        "",
        "in SRAM                    bytes       at",
        "image        |█▆▄▄▂▂  |      800        0  4 rows",
        "all together |█▆▄▄▂▂  |      800           arena",
        "              ▲ peak: 800 bytes",
    ]


def test_columns_are_as_wide_as_megabytes_need():
    image, *others = MEMORY.buffers
    memory = replace(
        MEMORY, pool_bytes={"arena": 12_345_678}, buffers=(replace(image, row_bytes=1_000_000), *others)
    )
    _, head, first, *_, total, _ = draw_memory(memory).splitlines()
    assert head.endswith("       bytes          at")
    assert first.endswith("|   4,000,000           0  4 rows")
    assert total.endswith("|  12,345,678              arena")


def test_many_steps_share_a_column_which_shows_the_most_of_them():
    lines = draw_memory(MEMORY, columns=4).splitlines()
    assert lines[2].startswith("image        |█▄▂ |")
    assert lines[4].startswith("pool/Max     | ▃▆█|")


@pytest.mark.parametrize("width", [70, 80])
def test_a_map_is_no_wider_than_the_terminal(width, compiled):
    wide = draw_memory(facts_of(compiled).memory).splitlines()[2:-1]
    lines = draw_memory(facts_of(compiled).memory, width=width).splitlines()[2:-1]
    assert max(map(len, lines)) == width < max(map(len, wide))
    assert [line.split("|")[2] for line in lines] == [line.split("|")[2] for line in wide]


def test_the_peak_is_marked_under_its_column(compiled):
    memory = facts_of(compiled).memory
    *_, total, peak = draw_memory(memory, columns=len(memory.order)).splitlines()
    assert peak.index("▲") - total.index("|") - 1 == memory.peak_step
    assert f"peak: {memory.peak_bytes:,} bytes" in peak


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("conv/Relu", "conv/Relu"),
        ("exactly_twelve", "…tly_twelve"),
        ("model/block_3/Relu", "…ock_3/Relu"),
        ("model/a/long_name", "…/long_name"),
    ],
)
def test_long_names_keep_their_end(name, shown):
    assert shortened(name, 11) == shown


def test_how_much_is_held_is_said_in_words():
    assert [rows_text(b) for b in MEMORY.buffers] == ["4 rows", "ring of 2 of 4 rows", "3 rows", "whole"]


@pytest.fixture(scope="module")
def facts(compiled):
    return facts_of(compiled)


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_names_model_buffers_layers_and_peak(facts):
    shown = texts(draw_memory_svg(facts))
    assert facts.name in shown
    assert f"peak: {facts.memory.peak_bytes:,} bytes" in shown
    assert {shortened(buffer.name, 24) for buffer in facts.memory.buffers} <= set(shown)
    assert [text for text in shown if text.startswith("conv2d  8×8×4 → 8×8×4")]  # noqa: RUF001


def test_rings_are_outlined_and_have_a_legend_symbol_of_their_rows(facts):
    svg = draw_memory_svg(facts)
    rings = [buffer for buffer in facts.memory.buffers if buffer.is_ring]
    assert rings
    assert svg.count('stroke-dasharray="4 2"') == len(rings)
    segments = sum(min(buffer.rows_held, 12) for buffer in rings)
    assert svg.count("A4.5 4.5") == 2 * segments


@pytest.mark.parametrize("rows", [5, 7, 12])
def test_segments_of_a_ring_are_longer_than_the_gaps(rows, facts):
    buffers = list(facts.memory.buffers)
    place = next(n for n, buffer in enumerate(buffers) if buffer.is_ring)
    buffers[place] = replace(buffers[place], rows_held=rows, rows=2 * rows)
    svg = draw_memory_svg(replace(facts, memory=replace(facts.memory, buffers=tuple(buffers))))
    (symbol,) = [d for d in re.findall(r' d="(M[^"]*A4.5[^"]*)"', svg) if d.count("M") == rows]
    segments = [[float(number) for number in re.findall(r"[\d.]+", part)] for part in symbol.split("M")[1:]]
    begins, ends = [s[:2] for s in segments], [s[-2:] for s in segments]
    for begin, end, following in zip(begins, ends, (*begins[1:], begins[0]), strict=True):
        assert dist(begin, end) > dist(end, following)


def test_every_other_turn_of_a_ring_is_lighter(facts):
    ring = next(buffer for buffer in facts.memory.buffers if buffer.is_ring)
    root = ElementTree.fromstring(draw_memory_svg(facts))
    drawn = {
        path.get("fill-opacity"): (path.get("d") or "").count("M")
        for path in root.iter(f"{SVG}path")
        if (path.findtext(f"{SVG}title") or "").startswith(f"{ring.name}:")
    }
    first_turns = sum(span.row // ring.rows_held % 2 == 0 for span in ring.spans)
    assert drawn == {"0.9": first_turns, "0.55": len(ring.span_rows) - first_turns}


def test_the_picture_is_the_same_each_time(facts):
    assert draw_memory_svg(facts) == draw_memory_svg(facts)


def test_a_users_names_cannot_break_the_picture(facts):
    first, *others = facts.memory.buffers
    odd = replace(first, name='<script>&"\x07')
    memory = replace(facts.memory, buffers=(odd, *others))
    assert '<script>&"\N{REPLACEMENT CHARACTER}' in texts(draw_memory_svg(replace(facts, memory=memory)))


def test_pools_stand_on_one_another(facts):
    first, *others = facts.memory.buffers
    memory = replace(
        facts.memory,
        pool_bytes={**facts.memory.pool_bytes, "tcm": first.bytes},
        buffers=(replace(first, pool="tcm", offset=0), *others),
    )
    assert f"{memory.arena_bytes:,}" in texts(draw_memory_svg(replace(facts, memory=memory)))
