"""How long is waited for what: a program of this computer has as long as this computer needs."""

import pytest
from fake_line import FakeTransport

from platforms.board_files import load_board
from platforms.line_deadlines import deadlines_for
from platforms.rpc.exchange import Exchange
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.protocol import REPLY_BIT, Message


def line(is_program: bool) -> FakeTransport:
    fake = FakeTransport(lambda _data: b"")
    fake.is_program = is_program
    return fake


def test_a_board_ends_a_run_itself_before_the_host_gives_up():
    deadlines = deadlines_for(line(is_program=False), load_board("nrf52840dk"), run_s=10.0)
    assert (deadlines.hello_s, deadlines.answer_s) == (10.0, 5.0)
    assert deadlines.device_run_s < deadlines.kept_run_s == deadlines.run_s == 10.0


def test_a_program_is_waited_for_while_the_computer_is_busy():
    deadlines = deadlines_for(line(is_program=True), load_board("host"), run_s=10.0)
    assert min(deadlines.hello_s, deadlines.answer_s) >= 60.0
    assert deadlines.device_run_s == 10.0
    assert deadlines.kept_run_s == 100.0


class Busy(FakeTransport):
    """A program on a busy computer: it takes three seconds for each frame, one after the other."""

    is_program = True

    def __init__(self) -> None:
        super().__init__(lambda _data: b"")
        self._decoder = Decoder()
        self._due: list[tuple[float, bytes]] = []

    def write(self, data: bytes, deadline_s: float) -> None:
        frames = [item for item in self._decoder.feed(data) if isinstance(item, bytes)]
        for request in map(Packet.unpack, frames):
            reply = Packet(request.kind | REPLY_BIT, request.sequence, request.session, _STATS)
            begins_s = max(self.now_s, self._due[-1][0] if self._due else 0.0)
            self._due.append((begins_s + 3.0, encode_frame(reply.pack())))

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        if self._due and self._due[0][0] <= self.now_s + deadline_s:
            at_s, frame = self._due.pop(0)
            self.now_s = max(self.now_s, at_s)
            return frame
        return super().read(max_bytes, deadline_s)


_STATS = bytes(12)


def test_a_program_that_is_slow_is_not_flooded_with_repetitions():
    line = Busy()
    exchange = Exchange(line, deadlines_for(line, load_board("host")), line.clock, lambda _log: None)
    for sequence in range(1, 21):
        request = Packet(Message.STATS, sequence, 7)
        exchange.ask(request, exchange.begin("stats", exchange.deadlines.answer_s))
    assert line.now_s == pytest.approx(60.0)


def test_an_emulator_that_counts_instructions_has_a_clock_of_its_own():
    board = load_board("mps2-an386")
    deadlines = deadlines_for(line(is_program=True), board, run_s=10.0)
    instructions = board.counter.instructions(round(deadlines.device_run_s * board.counter.hz))
    assert instructions == pytest.approx(2_000_000_000)
