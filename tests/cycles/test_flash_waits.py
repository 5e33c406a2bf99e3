"""Caches and prefetch of flash on hand-made traces: each wait can be counted on paper."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from aot.line_cache import LineCache
from boards.flash_access import FlashAccess, FlashCache
from platforms.board_files import load_board
from platforms.cycles.flash_waits import Flash, fetches_of, waits
from platforms.cycles.instruction import MachineInstruction
from platforms.cycles.trace import Trace

Block = tuple[MachineInstruction, ...]

STATES = 5
READ = STATES  # a read that waits by itself
LINE = 2 * (STATES + 1) - 1  # a line of two reads
FOUR_LINES = FlashCache(bytes=64, line_bytes=16, ways=4)
BARE = FlashAccess(
    (1_000_000,), 64, prefetch=False, instructions=None, data=None, shared=False, known_error=None
)
CACHED = replace(BARE, instructions=FOUR_LINES, data=FOUR_LINES)


def row(address: int, *cycles: int) -> tuple[Block, tuple[int, ...]]:
    """A block of instructions of eight bytes each, which is what a read gives, and what they take."""
    return tuple(instruction(address + 8 * n, 8) for n in range(len(cycles))), cycles


def instruction(address: int, length: int) -> MachineInstruction:
    return MachineInstruction(address, length, "", "", 1, frozenset(), frozenset(), frozenset())


def waited(
    access: FlashAccess,
    blocks: Sequence[tuple[Block, tuple[int, ...]]],
    order: Sequence[int],
    reads: Sequence[Sequence[int]] = (),
) -> list[int]:
    """For each of the blocks executed in that order, the cycles that it waits; it reads those addresses."""
    reads = reads or [()] * len(order)
    trace = Trace(
        machine="arm",
        addresses=np.array([code[0].address for code, _ in blocks]),
        code=(b"",) * len(blocks),
        order=np.array(order),
        flash_reads=np.array([address for each in reads for address in each], np.int64),
        reads_before=np.cumsum([0, *map(len, reads)])[:-1],
        misaligned=np.zeros((0, 2), np.int64),
        layer_ends=np.zeros((0, 2), np.int64),
    )
    flash = Flash(access, STATES, range(0, 0x1000))
    found = waits(trace, [code for code, _ in blocks], [cycles for _, cycles in blocks], flash)
    return [int(each) for each in found]


def test_without_a_cache_each_read_waits_but_for_what_is_at_hand():
    blocks = [row(0, 2, 2), row(8, 3)]
    assert waited(BARE, blocks, [0, 1, 0]) == [2 * READ, 0, 2 * READ]


def test_prefetch_hides_the_cycles_spent_in_the_read_before():
    blocks = [row(0, 2, 9, 1), row(0x100, 1)]
    assert waited(replace(BARE, prefetch=True), blocks, [0, 1]) == [READ + (READ - 2) + 0, READ]


def test_a_miss_fills_a_whole_line():
    assert waited(CACHED, [row(0, 1, 1, 1)], [0]) == [2 * LINE]
    assert waited(CACHED, [row(8, 1, 1)], [0]) == [2 * LINE]


def test_a_loop_that_fits_waits_once():
    assert waited(CACHED, [row(0, *[2] * 8)], [0, 0, 0]) == [4 * LINE, 0, 0]


def test_a_loop_of_one_line_too_many_waits_always():
    assert waited(CACHED, [row(0, *[2] * 10)], [0, 0, 0]) == [5 * LINE] * 3


def test_data_and_code_have_caches_of_their_own_or_share_one():
    code = [row(0, *[2] * 8)]  # all lines
    reads = [[0x100, 0x104, 0x10C], []]
    assert waited(CACHED, code, [0, 0], reads) == [4 * LINE + LINE, 0]
    shared = waited(replace(CACHED, data=None, shared=True), code, [0, 0], reads)
    assert shared == [4 * LINE + LINE, 4 * LINE], (
        "the data threw out the oldest line, and so on round the loop"
    )


def test_data_without_a_cache_waits_for_each_read():
    bare_data = replace(CACHED, data=None)
    assert waited(bare_data, [row(0, 1)], [0], [[0x100, 0x104, 0x108, 0x100]]) == [LINE + 3 * READ]


def test_code_in_ram_does_not_wait():
    assert waited(BARE, [row(0, 2), row(0x2000, 2)], [0, 1]) == [READ, 0]


def test_a_cache_forgets_what_was_not_used_for_longest():
    cache = LineCache(sets=1, ways=2)
    assert [cache.take(line) for line in (0, 1, 0, 2, 0, 1)] == [False, False, True, False, True, False]


def test_sets_keep_lines_apart():
    cache = LineCache(sets=2, ways=1)
    assert [cache.take(line) for line in (0, 1, 0, 2, 1, 0)] == [False, False, True, False, True, False]


def test_a_long_instruction_reaches_into_the_next_line():
    block = [instruction(4, 2), instruction(6, 4), instruction(10, 2)]
    assert fetches_of(block, [1, 2, 3], 8) == ((0, 3), (1, 3))


@pytest.mark.parametrize(("mhz", "states"), [(16, 0), (20, 0), (21, 1), (80, 3), (120, 5)])
def test_the_clock_decides_the_wait_states(mhz, states):
    access = load_board("nucleo-l4r5zi").flash_access
    assert access is not None
    assert access.wait_states(mhz * 1_000_000) == states
