"""The parts of the unicorn board that need no emulator: UART, counter, decoding lengths."""

import os

import pytest

from platforms.runners import unicorn_runner
from platforms.runners.unicorn_devices import DATA, IDLE_POLLS, RX_FULL, STATE, EmulatedUart, EndOfInput


class Ends:
    """Both ends of the UART's two pipes."""

    def __init__(self) -> None:
        self.rx, self.to_board = os.pipe()
        self.from_board, self.tx = os.pipe()
        self.uart = EmulatedUart(self.rx, self.tx)

    def close(self) -> None:
        for end in (self.rx, self.to_board, self.from_board, self.tx):
            os.close(end)


@pytest.fixture
def ends():
    made = Ends()
    yield made
    made.close()


def wait_for_byte(uart: EmulatedUart) -> None:
    while not uart.read(STATE) & RX_FULL:
        pass


def test_bytes_come_in_the_order_they_were_sent(ends):
    os.write(ends.to_board, b"abc")
    wait_for_byte(ends.uart)
    assert [ends.uart.read(DATA) for _ in range(3)] == list(b"abc")


def test_a_sender_that_looks_at_the_state_does_not_wait_for_input(ends):
    for byte in b"hello" * 3:
        assert ends.uart.read(STATE) == 0  # would wait for ever if it were taken for a receiver
        ends.uart.write(DATA, byte)
    ends.uart.flush()
    assert os.read(ends.from_board, 100) == b"hello" * 3


def test_what_was_sent_goes_out_before_the_board_waits(ends):
    ends.uart.write(DATA, ord("x"))
    os.write(ends.to_board, b"y")
    wait_for_byte(ends.uart)
    assert os.read(ends.from_board, 100) == b"x"


def test_a_closed_line_ends_the_board():
    rx, to_board = os.pipe()
    os.close(to_board)
    uart = EmulatedUart(rx, 1)
    polls = [uart.read(STATE) for _ in range(IDLE_POLLS - 1)]
    assert polls == [0] * (IDLE_POLLS - 1)
    with pytest.raises(EndOfInput):
        uart.read(STATE)
    os.close(rx)


CODE = (
    ("nothing", "", 0),
    ("two short ones", "00bf 00bf", 2),
    ("a call of four bytes", "00f000f8", 1),
    ("short, long, short", "00bf 40f20000 7047", 3),
)


@pytest.mark.parametrize(("code", "count"), [case[1:] for case in CODE], ids=[case[0] for case in CODE])
def test_thumb_instructions_are_counted_by_their_length(code, count):
    machine = pytest.importorskip("platforms.runners.unicorn_machine", exc_type=ImportError)
    assert machine.thumb_instructions(bytes.fromhex(code)) == count


def test_the_counter_runs_at_its_rate_and_wraps():
    machine = pytest.importorskip("platforms.runners.unicorn_machine", exc_type=ImportError)
    counter = machine.EmulatedCounter(address=0, hz=25_000_000, bits=32, instruction_ns=1024)
    assert [counter.ticks(n) for n in (0, 1, 1000, 2**32)] == [0, 25, 25_600, (2**32 * 256 // 10) % 2**32]


# Vectors; a function that ends in ITTE HI, whose last instruction is not executed; its caller, which stores
# what it returned at 0x2000_0000 and waits for input.
IT_BLOCK = bytes.fromhex(
    "001000201b0000000b4b1b68834286bf0a4bd3f80000002070470024e4430020fff7f2ff1b7804464ff000510c604ff080414868"
    "0868fce740000000440000000100000034120000"
)


def test_no_instruction_is_skipped_after_a_conditional_one():
    machine = pytest.importorskip("platforms.runners.unicorn_machine", exc_type=ImportError)
    board = machine.Machine("ARM_CORTEX_M3", [(0x2000_0000, 0x1000)], [(0, 0x1000)])
    board._uc.mem_write(0, IT_BLOCK)
    rx, to_board = os.pipe()
    os.close(to_board)
    board.add_uart(0x4000_0000, EmulatedUart(rx, 1))
    board._uc.hook_add(
        machine.unicorn.UC_HOOK_MEM_READ, lambda *_: None
    )  # as a look at the flags amid the block
    assert board.run() == 0
    assert int.from_bytes(board._uc.mem_read(0x2000_0000, 4), "little") == 0x1234
    os.close(rx)


def test_a_version_that_skips_instructions_is_refused_with_words(monkeypatch):
    pytest.importorskip("unicorn")
    monkeypatch.setattr(unicorn_runner, "version", lambda _: "2.1.4")
    assert "than 2.1.4, which skips Arm" in unicorn_runner.missing()
