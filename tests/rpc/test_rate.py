"""The line's speed: rates raised by both ends together, and how much of a rate is left for data."""

import pytest

from benchmarks.line import LEAST_SHARE, CountingTransport, write_share
from platforms.rpc.deadlines import Deadlines
from platforms.rpc.failures import DeviceResetError
from platforms.rpc.protocol import Reset
from platforms.rpc.session import Session
from platforms.transport.base import Transport
from platforms.transport.pipe import PipeTransport

pytestmark = pytest.mark.cc

PLUS_ONE, MOODY = 0, 2
RESETS = 4  # a mood
FIRST, FAST, FASTEST = 115_200, 460_800, 921_600
# A request sent again though it was heard is damage at the new rate: not too soon, then.
PATIENT = Deadlines(hello_s=30, answer_s=30, run_s=30, rate_s=6, retry_s=2.5, retry_most_s=2.5)


class RatedLine(Transport):
    """Two ends at different rates get other bytes than were sent, as device/port.c does it."""

    def __init__(self, line: Transport, most: int = 10_000_000) -> None:
        self.name = line.name
        self.bits_per_second = FIRST
        self._line = line
        self._most = most

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        return self._shifted(self._line.read(max_bytes, deadline_s), -self._key)

    def write(self, data: bytes, deadline_s: float) -> None:
        self._line.write(self._shifted(data, self._key), deadline_s)

    def set_rate(self, bits_per_second: int) -> bool:
        if bits_per_second <= self._most:
            self.bits_per_second = bits_per_second
        return bits_per_second <= self._most

    def close(self) -> None:
        self._line.close()

    @property
    def _key(self) -> int:
        return 0 if self.bits_per_second == FIRST else self.bits_per_second // 1000 % 255

    @staticmethod
    def _shifted(data: bytes, key: int) -> bytes:
        """Zeros look like zeros at any rate."""
        return bytes(byte and (byte - 1 + key) % 255 + 1 for byte in data)


def infer(session: Session) -> bytes:
    model = session.describe()[PLUS_ONE]
    session.write_input(model, 0, b"\1\2\3\4")
    session.run(model)
    return session.read_output(model, 0)


@pytest.mark.parametrize(
    ("most", "broken", "taken"),
    [
        pytest.param(10_000_000, 1, FASTEST, id="the fastest that the device has"),
        pytest.param(FAST, 1, FAST, id="the fastest that the host has"),
        pytest.param(10_000_000, FASTEST, FAST, id="the next when one is not understood"),
        pytest.param(FIRST, 1, FIRST, id="none"),
    ],
)
def test_both_ends_take_the_fastest_rate_they_share(connect, most, broken, taken):
    session = connect(
        wrap=lambda line: RatedLine(line, most), environment={"BROKEN_RATE": str(broken)}, deadlines=PATIENT
    )
    session.hello()
    assert session.raise_rate((2_000_000, FASTEST, FAST)) == taken
    assert infer(session) == b"\2\3\4\5"


def test_a_line_without_a_rate_is_left_alone(session):
    assert session.raise_rate() == 0


def test_the_next_program_finds_the_device_though_it_was_left_at_another_rate(device):
    line = PipeTransport([str(device)], environment={})
    first = Session(RatedLine(line), PATIENT)
    first.hello()
    assert first.raise_rate((FASTEST,)) == FASTEST
    second = Session(RatedLine(line), PATIENT)
    second.hello()
    assert infer(second) == b"\2\3\4\5"
    second.close()


def test_a_device_that_starts_anew_at_its_first_rate_is_noticed(connect):
    session = connect(wrap=RatedLine, deadlines=PATIENT)
    session.hello()
    assert session.raise_rate((FASTEST,)) == FASTEST
    model = session.describe()[MOODY]
    session.write_input(model, 0, bytes([RESETS]))
    with pytest.raises(DeviceResetError, match='device was reset during run of "moody"'):
        session.run(model)
    assert infer(session) == b"\2\3\4\5"
    session.reset(Reset.STATE)


def test_writes_of_four_kilobytes_use_85_percent_of_the_line(connect):
    lines: list[CountingTransport] = []

    def counted(line: Transport) -> Transport:
        lines.append(CountingTransport(line))
        return lines[0]

    assert LEAST_SHARE == 0.85
    session = connect(wrap=counted)
    assert write_share(session, lines[0]) >= LEAST_SHARE
