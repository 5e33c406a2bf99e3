"""How much of a serial line's rate is left for data, counted in bytes rather than measured in time."""

from __future__ import annotations

import pytest

from platforms.transport.base import Transport

pytestmark = pytest.mark.cc

BAUD = 115_200
BITS_PER_BYTE = 10
TURNAROUND_S = 0.001  # a full-speed USB serial adapter holds bytes back until its next frame
WRITE_BYTES = 4096
ECHO = 5


class CountingTransport(Transport):
    """Counts what a serial line of this baud rate would have to carry."""

    def __init__(self, line: Transport) -> None:
        self.name = line.name
        self._line = line
        self.bytes = 0
        self.turns = 0

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        received = self._line.read(max_bytes, deadline_s)
        self.bytes += len(received)
        return received

    def write(self, data: bytes, deadline_s: float) -> None:
        self.bytes += len(data)
        self.turns += 2
        self._line.write(data, deadline_s)

    def close(self) -> None:
        self._line.close()


def test_writes_of_four_kilobytes_use_85_percent_of_the_line(connect):
    lines: list[CountingTransport] = []

    def counted(line: Transport) -> Transport:
        lines.append(CountingTransport(line))
        return lines[0]

    session = connect(wrap=counted)
    session.hello()
    model = session.describe()[ECHO]
    lines[0].bytes = lines[0].turns = 0
    session.write_input(model, 0, b"\x55" * WRITE_BYTES)
    seconds = lines[0].bytes * BITS_PER_BYTE / BAUD + lines[0].turns * TURNAROUND_S
    raw_seconds = WRITE_BYTES * BITS_PER_BYTE / BAUD
    assert raw_seconds / seconds >= 0.85
