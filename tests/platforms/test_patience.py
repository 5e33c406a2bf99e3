"""How long is waited for what: a program of this computer has as long as this computer needs."""

from __future__ import annotations

import pytest

from boards.load import load_board
from platforms.patience import deadlines_for
from platforms.transport.fake import FakeTransport


def line(is_program: bool) -> FakeTransport:
    fake = FakeTransport(lambda _data: b"")
    fake.is_program = is_program
    return fake


def test_a_board_ends_a_run_itself_before_the_host_gives_up() -> None:
    deadlines = deadlines_for(line(is_program=False), load_board("nrf52840dk"), run_s=10.0)
    assert (deadlines.hello_s, deadlines.answer_s) == (10.0, 5.0)
    assert deadlines.device_run_s < deadlines.kept_run_s == deadlines.run_s == 10.0


def test_a_program_is_waited_for_while_the_computer_is_busy() -> None:
    deadlines = deadlines_for(line(is_program=True), load_board("host"), run_s=10.0)
    assert min(deadlines.hello_s, deadlines.answer_s) >= 60.0
    assert deadlines.device_run_s == 10.0
    assert deadlines.kept_run_s == 100.0


def test_an_emulator_that_counts_instructions_has_a_clock_of_its_own() -> None:
    board = load_board("mps2-an386")
    deadlines = deadlines_for(line(is_program=True), board, run_s=10.0)
    instructions = board.counter.instructions(round(deadlines.device_run_s * board.counter.hz))
    assert instructions == pytest.approx(2_000_000_000)
