"""Our own board files: every one loads and says what is needed."""

from __future__ import annotations

import pytest

from aot.target import Feature
from boards.board import Board
from boards.load import all_boards, load_board
from boards.schema import CORES

BOARDS = all_boards()


def test_every_emulated_board_is_there() -> None:
    names = {board.name for board in BOARDS}
    assert names >= {"host", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547"}


def test_boards_are_sorted_by_name() -> None:
    assert [board.name for board in BOARDS] == sorted(board.name for board in BOARDS)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_has_a_known_core_and_only_features_of_it(board: Board) -> None:
    assert board.features <= CORES[board.core]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_boards_file_says_where_its_facts_are_from(board: Board) -> None:
    assert all(len(source) > 10 for source in board.sources)


def test_the_an386_is_what_its_documents_say() -> None:
    board = load_board("mps2-an386")
    assert board.core == "cortex-m4"
    assert board.features == {Feature.DSP, Feature.FPU, Feature.UNALIGNED}
    assert board.target.flash_bytes == board.target.ram_bytes == 4 * 1024 * 1024
    assert board.uart is not None
    assert board.uart.address == 0x4000_4000
    assert (board.counter.address, board.counter.hz) == (0x4002_8018, 25_000_000)
    assert list(board.runners) == ["qemu", "unicorn"]


def test_the_host_has_pointers_of_eight_bytes_and_no_uart() -> None:
    board = load_board("host")
    assert board.target.pointer_bytes == 8
    assert board.uart is None


def test_ticks_of_an_emulated_board_are_whole_instructions() -> None:
    counter = load_board("mps2-an386").counter
    assert [counter.instructions(ticks) for ticks in (0, 26, 25_600, 25_601)] == [0, 1, 1000, 1000]


def test_ticks_of_the_host_are_no_instructions() -> None:
    counter = load_board("host").counter
    with pytest.raises(ValueError, match="measures time"):
        counter.instructions(1)


def test_the_region_of_a_role_is_the_fastest_one() -> None:
    assert load_board("mps3-an547").region("ram").name == "RAM"
