"""QEMU's log of executed blocks: where each one ends, what was not executed after all, layers' reports."""

import pytest

from platforms.cycles.block_log import LayerReport, starts_of, trace_of
from platforms.cycles.trace import Trace, TracePoints
from platforms.elf import Segment

RUN, REPORT = 0x100, 0x200
# run: push {r4,lr}; movs r0,#3; bl report; cmp r0,#3; bne next; adds r0,#1; next: pop {r4,pc}
CODE = bytes.fromhex("10b5 0320 00f07cf8 0328 00d1 0130 10bd".replace(" ", ""))
REPORTING = bytes.fromhex("7047")  # bx lr


@pytest.fixture
def traced(require_package):
    """traced(starts, reports): the trace of a log of blocks that begin there."""
    require_package("capstone")
    segments = (Segment(range(RUN, RUN + len(CODE)), CODE), Segment(range(REPORT, REPORT + 2), REPORTING))

    def trace(starts: list[int], reports: tuple[LayerReport, ...] = (), most: int = 0) -> Trace:
        where = TracePoints(RUN, REPORT if reports else None, range(0x1000))
        return trace_of((line(start, most) for start in starts), reports, where, segments, "arm")

    return trace


def line(start: int, most: int = 0) -> str:
    return f"Trace 0: 0x7f60b40d3e80 [00400000/{start:08x}/00000131/{0xFF000200 + most:08x}] \n"


def blocks(trace: Trace) -> list[tuple[int, int]]:
    return [(int(trace.addresses[n]), len(trace.code[n])) for n in trace.order]


def test_a_block_ends_at_its_branch(traced):
    found = traced([RUN, REPORT, RUN + 8, RUN + 14])
    assert blocks(found) == [(RUN, 8), (REPORT, 2), (RUN + 8, 4), (RUN + 14, 2)]
    assert found.code[0] == CODE[:8]
    assert found.order.tolist() == [0, 1, 2, 3]
    assert traced([RUN, REPORT, RUN, REPORT]).order.tolist() == [0, 1, 0, 1]


def test_a_jump_into_the_middle_of_the_block_before_it_does_not_end_that(traced):
    """Whatever begins in the middle, the block before it was executed to its branch."""
    assert blocks(traced([RUN, RUN + 2, REPORT])) == [(RUN, 8), (RUN + 2, 6), (REPORT, 2)]


def test_a_block_of_few_instructions_ends_behind_them(traced):
    assert blocks(traced([RUN, RUN + 2, RUN + 4, REPORT], most=1)) == [
        *((RUN, 2), (RUN + 2, 2), (RUN + 4, 4), (REPORT, 2))
    ]


def test_a_block_ends_with_its_page(require_package):
    """Eight instructions of two bytes: five before the end of the page, where the next block begins."""
    require_package("capstone")
    code = Segment(range(0x3F6, 0x408), b"\x08\x44" * 8 + b"\x70\x47")
    trace = trace_of(map(line, (0x3F6, 0x400)), (), TracePoints(0x3F6, None, range(0x1000)), (code,), "arm")
    assert blocks(trace) == [(0x3F6, 10), (0x400, 8)]


def test_a_block_ends_behind_what_changes_predicates(require_package):
    """vcmp.s32 ge, q0, r1; vpsel q0, q1, q0; vpt.f32 gt, q1, q0; vmovt q0, q1; bx lr."""
    require_package("capstone")
    code = bytes.fromhex("21fe411f33fe010f73ee011f22ef52017047")
    segments = (Segment(range(0x100, 0x100 + len(code)), code),)
    where = TracePoints(0x100, None, range(0x1000))
    trace = trace_of(map(line, (0x100, 0x104, 0x10C)), (), where, segments, "arm")
    assert blocks(trace) == [(0x100, 4), (0x104, 8), (0x10C, 6)]


def test_what_a_layer_reports_is_not_part_of_the_run(traced):
    found = traced([RUN, REPORT, RUN + 8, RUN + 12], (LayerReport(3, RUN + 8),))
    assert blocks(found) == [(RUN, 8), (RUN + 8, 4), (RUN + 12, 4)]
    assert found.layer_ends.tolist() == [[3, 1]]


def test_a_block_that_qemu_stopped_before_was_not_executed():
    stopped = "Stopped execution of TB chain before 0x7f60b40d3e80 [00000100] \n"
    log = [line(0x100), stopped, line(0x100, 7), "another line\n", line(0x200), line(0x300), stopped]
    assert list(starts_of(log)) == [(0x100, 7), (0x200, 512)]
