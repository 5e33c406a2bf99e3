"""Caches and prefetch of flash on hand-made traces: each wait can be counted on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from boards.flash_access import FlashAccess, FlashCache
from platforms.board_files import load_board
from platforms.cycles.cache import Cache
from platforms.cycles.flash_waits import Fetches, Flash, fetches_of, waits
from platforms.cycles.instruction import Instruction
from platforms.cycles.trace import Trace

WAIT = 5
LINES_OF_TWO = FlashCache(bytes=64, line_bytes=16, ways=4)  # four lines of two parts
BARE = FlashAccess(
    (1_000_000,), 64, prefetch=False, instructions=None, data=None, shared=False, known_error=None
)
CACHED = replace(BARE, instructions=LINES_OF_TWO, data=LINES_OF_TWO)


def flash(access: FlashAccess) -> Flash:
    return Flash(access, WAIT, range(0, 0x1000))


def trace(
    order: Sequence[int], reads: Sequence[Sequence[int]] = (), addresses: Sequence[int] = (0,) * 9
) -> Trace:
    """Blocks executed in that order, and for each the addresses that it reads."""
    reads = reads or [()] * len(order)
    counts = [len(each) for each in reads]
    return Trace(
        addresses=np.array(addresses),
        code=(b"",) * len(addresses),
        order=np.array(order),
        flash_reads=np.array([address for each in reads for address in each], np.int64),
        reads_before=np.cumsum([0, *counts])[:-1],
        misaligned=np.zeros((0, 2), np.int64),
        layer_ends=np.zeros((0, 2), np.int64),
    )


def test_without_a_cache_each_new_part_waits() -> None:
    blocks: list[Fetches] = [((0, 2), (1, 2)), ((1, 3),)]
    assert waits(trace([0, 1, 0]), blocks, flash(BARE)).tolist() == [2 * WAIT, 0, 2 * WAIT]


def test_prefetch_hides_the_cycles_spent_in_the_part_before() -> None:
    access = replace(BARE, prefetch=True)
    blocks: list[Fetches] = [((0, 2), (1, 9), (2, 1)), ((7, 1),)]
    assert waits(trace([0, 1]), blocks, flash(access)).tolist() == [WAIT + (WAIT + 1 - 2) + 0, WAIT]


def test_a_loop_that_fits_waits_once() -> None:
    loop: Fetches = tuple((part, 2) for part in range(8))
    assert waits(trace([0, 0, 0]), [loop], flash(CACHED)).tolist() == [8 * WAIT, 0, 0]


def test_a_loop_of_one_line_too_many_waits_always() -> None:
    loop: Fetches = tuple((part, 2) for part in range(10))
    assert waits(trace([0, 0, 0]), [loop], flash(CACHED)).tolist() == [10 * WAIT] * 3


def test_data_and_code_have_caches_of_their_own_or_share_one() -> None:
    code: Fetches = tuple((part, 2) for part in range(8))  # all lines
    run = trace([0, 0], [[0x100, 0x104, 0x108], []])
    assert waits(run, [code], flash(CACHED)).tolist() == [8 * WAIT + 2 * WAIT, 0]
    shared = waits(run, [code], flash(replace(CACHED, data=None, shared=True))).tolist()
    assert shared[1] == 8 * WAIT, "the data threw out the oldest line, and so on round the loop"


def test_code_in_ram_does_not_wait() -> None:
    code: list[Fetches] = [((0, 2),), ((0x400, 2),)]
    run = trace([0, 1], addresses=(0, 0x2000))
    assert waits(run, code, flash(BARE)).tolist() == [WAIT, 0]


def test_a_cache_forgets_what_was_not_used_for_longest() -> None:
    cache = Cache(FlashCache(bytes=32, line_bytes=16, ways=2), part_bytes=8)
    assert [cache.take(part) for part in (0, 2, 0, 4, 0, 2)] == [False, False, True, False, True, False]


def test_sets_keep_lines_apart() -> None:
    cache = Cache(FlashCache(bytes=32, line_bytes=16, ways=1), part_bytes=16)
    assert [cache.take(line) for line in (0, 1, 0, 2, 1, 0)] == [False, False, True, False, True, False]


def test_a_long_instruction_reaches_into_the_next_part() -> None:
    def instruction(address: int, length: int) -> Instruction:
        return Instruction(address, length, "", "", 1, frozenset(), frozenset(), frozenset())

    block = [instruction(4, 2), instruction(6, 4), instruction(10, 2)]
    assert fetches_of(block, [1, 2, 3], 8) == ((0, 3), (1, 3))


@pytest.mark.parametrize(("mhz", "states"), [(16, 0), (20, 0), (21, 1), (80, 3), (120, 5)])
def test_the_clock_decides_the_wait_states(mhz: int, states: int) -> None:
    access = load_board("nucleo-l4r5zi").flash_access
    assert access is not None
    assert access.wait_states(mhz * 1_000_000) == states
