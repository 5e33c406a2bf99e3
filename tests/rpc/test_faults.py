"""Damage between the two real ends: the right answer or a named error in time, never a wrong answer."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import fault_table
from benchmarks.fault_table import Row, build_devices, sums, text_of, try_out
from benchmarks.faulty_frames import FaultyFramesTransport, FrameFaults
from benchmarks.faulty_line import Faults, FaultyTransport
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceResetError, DeviceSilentError
from platforms.rpc.session import Session
from platforms.transport.base import LineClosedError, Transport
from platforms.transport.pipe import PipeTransport

pytestmark = pytest.mark.cc

PLUS_ONE, RUNNING_SUM = 0, 1
WIDTH = 1200
HELLO_BYTES = 21
SESSION_BYTES = 427  # what whole_session sends
HURRIED = Deadlines(hello_s=0.5, answer_s=0.5, run_s=0.5, retry_s=0.02, retry_most_s=0.1)
# To count bytes: over a line without faults to a device that has started nothing need be said twice, so what
# is sent does not hang on how fast this machine is.
ONCE = Deadlines(hello_s=60, answer_s=60, run_s=60, retry_s=60, retry_most_s=60)

REPAIRABLE = {
    "flips and losses": Faults(flipped_bits=1e-4, dropped=1e-3),
    "duplicates": Faults(duplicated=2e-3),
    "bytes out of order": Faults(swapped=2e-3),
    "cut short": Faults(cut=1e-3),
    "everything": Faults(flipped_bits=5e-5, dropped=3e-4, duplicated=3e-4, swapped=3e-4, cut=3e-4),
}


def through(faults: Faults, seed: int) -> Any:
    def wrap(line: Transport) -> Transport:
        return FaultyTransport(line, faults, seed)

    return wrap


def running_sum(total: bytes, a: bytes, b: bytes) -> bytes:
    """What the firmware's running_sum must answer, given what it answered last."""
    return bytes((t + x + y) % 256 for t, x, y in zip(total, a, b, strict=True))


def assert_runs_are_right(session: Session, runs: int) -> None:
    """The model keeps a sum: a run carried out twice, or not at all, spoils all that follow."""
    session.hello()
    model = session.describe()[RUNNING_SUM]
    chance = random.Random(0)
    total = bytes(WIDTH)
    for run in range(runs):
        a, b = chance.randbytes(WIDTH), chance.randbytes(WIDTH)
        total = running_sum(total, a, b)
        session.write_input(model, 0, a)
        session.write_input(model, 1, b)
        session.run(model)
        assert session.read_output(model, 0) == total, f"run {run}"


FRAMES = {
    "lost": FrameFaults(lost=0.1),
    "twice": FrameFaults(duplicated=0.3),
    "late": FrameFaults(delayed=0.2),
    "overtaken": FrameFaults(overtaken=0.2),
    "everything": FrameFaults(lost=0.03, duplicated=0.1, overtaken=0.05, delayed=0.1),
}


@pytest.mark.parametrize("name", FRAMES)
def test_ten_runs_with_frames_going_astray_give_ten_right_answers(connect, name):
    session = connect(wrap=lambda line: FaultyFramesTransport(line, FRAMES[name], seed=1))
    assert_runs_are_right(session, 10)


def test_a_line_that_loses_every_frame_is_named_within_the_deadline(connect):
    lost = FrameFaults(lost=1.0)
    session = connect(wrap=lambda line: FaultyFramesTransport(line, lost, seed=1), deadlines=HURRIED)
    with pytest.raises(DeviceSilentError, match=r"did not answer within 0.5 s \(hello\)"):
        session.hello()


def test_the_fault_table_counts_right_answers_and_named_errors(tmp_path):
    devices = build_devices(tmp_path)
    rows = {
        row.fault: text_of(row, try_out(row, devices))
        for row in (
            Row("none", 4, runs=2),
            Row("old", 2, program="old"),
            Row("reset", 1, environment=lambda _: {"RESET_AT_BYTE": "1000"}),
        )
    }
    assert rows == {
        "none": "| none | 4 | 4 | 0 | 0 | 0 |",
        "old": "| old | 2 | 0 | 2 WrongProtocolError | 0 | 0 |",
        "reset": "| reset | 1 | 0 | 1 DeviceResetError | 0 | 0 |",
    }


@pytest.mark.parametrize("name", REPAIRABLE)
def test_ten_runs_over_a_bad_line_give_ten_right_answers(connect, name):
    assert_runs_are_right(connect(wrap=through(REPAIRABLE[name], seed=1)), 10)


def test_two_hundred_runs_over_a_bad_line_give_right_answers(connect):
    assert_runs_are_right(connect(wrap=through(REPAIRABLE["flips and losses"], seed=2)), 200)


@pytest.mark.slow
def test_a_thousand_runs_over_a_bad_line_give_right_answers(connect):
    assert_runs_are_right(connect(wrap=through(REPAIRABLE["flips and losses"], seed=3)), 1000)


def test_a_line_beyond_repair_is_named_within_the_deadline(connect):
    worn = through(Faults(flipped_bits=0.05), seed=4)
    session = connect(wrap=worn, deadlines=HURRIED, is_awake=True)
    with pytest.raises(DeviceSilentError, match=r"did not answer within 0.5 s \(hello\)") as caught:
        session.hello()
    assert "frames were damaged on the line" in caught.value.where


def whole_session(session: Session) -> bytes:
    session.hello()
    model = session.describe()[PLUS_ONE]
    session.write_input(model, 0, bytes([1, 2, 3, 4]))
    session.run(model)
    return session.read_output(model, 0)


class Counted(FaultyTransport):
    """A line without faults that counts what the host sends."""

    sent = 0

    def write(self, data: bytes, deadline_s: float) -> None:
        self.sent += len(data)
        super().write(data, deadline_s)


def bytes_sent(connect: Callable[..., Any], talk: Callable[[Session], object]) -> int:
    lines: list[Counted] = []

    def counted(line: Transport) -> Transport:
        lines.append(Counted(line, Faults(), seed=1))
        return lines[0]

    talk(connect(wrap=counted, deadlines=ONCE, is_awake=True))
    return lines[0].sent


def test_resets_are_tried_at_every_byte_that_a_session_sends(connect):
    assert bytes_sent(connect, whole_session) == SESSION_BYTES
    sent = bytes_sent(connect, lambda session: next(sums(session)))
    assert sent + HELLO_BYTES == fault_table.SESSION_BYTES


def failure_of(session: Session) -> str:
    try:
        assert whole_session(session) == bytes([2, 3, 4, 5])
    except DeviceResetError as error:
        return error.what
    return ""


def assert_reset_is_noticed(connect: Callable[..., Any], position: int) -> None:
    """A reset during hello is repaired, one later is named; after either the device answers rightly."""
    session = connect(environment={"RESET_AT_BYTE": str(position)}, deadlines=ONCE, is_awake=True)
    failure = failure_of(session)
    assert failure == "" if position <= HELLO_BYTES else failure.startswith("device was reset during")
    assert failure_of(session) == ""


@pytest.mark.parametrize("position", range(1, SESSION_BYTES + 1, 31))
def test_a_reset_within_a_session_is_noticed(connect, position):
    assert_reset_is_noticed(connect, position)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1, SESSION_BYTES + 1, 50))
def test_a_reset_at_every_byte_of_a_session_is_noticed(connect, first):
    for position in range(first, min(first + 50, SESSION_BYTES + 1)):
        assert_reset_is_noticed(connect, position)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        pytest.param("cat", "check that the board is powered", id="a line that echoes"),
        pytest.param("yes hello", "the board sends data, but not this protocol", id="endless text"),
        pytest.param("cat /dev/urandom", "check the baud rate", id="endless noise"),
        pytest.param("cat /dev/zero", "check that the board is powered", id="endless zeros"),
        pytest.param("sleep 60", "check that the board is powered", id="silence"),
    ],
)
def test_whatever_is_not_a_device_is_named_within_the_deadline(program, says):
    session = Session(PipeTransport(["sh", "-c", f"exec {program}"]), HURRIED)
    try:
        with pytest.raises(DeviceSilentError) as caught:
            session.hello()
    finally:
        session.close()
    assert says in caught.value.hint


def test_a_program_that_cannot_be_started_is_named(tmp_path):
    with pytest.raises(LineClosedError, match=r"cannot start .*/missing: No such file or directory"):
        PipeTransport([str(tmp_path / "missing")])
