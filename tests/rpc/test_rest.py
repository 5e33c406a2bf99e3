"""An emulator stands still while nothing is asked: firmware that polls its UART would take a processor."""

import sys
import time
from pathlib import Path

import pytest

from platforms.rpc.session import Session
from platforms.runners.qemu import QemuLine

pytestmark = [
    pytest.mark.cc,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says so of a process in /proc"),
]


@pytest.fixture
def line(device):
    """A line to the device's program on this computer, as if it were QEMU."""
    line = QemuLine((str(device),))
    yield line
    line.close()


def stops_within(line: QemuLine, wait_s: float) -> bool:
    """A signal arrives when the system comes to it."""
    give_up_at = time.monotonic() + wait_s
    while time.monotonic() < give_up_at:
        if Path(f"/proc/{line._process.pid}/stat").read_text().rpartition(") ")[2].startswith("T"):
            return True
        time.sleep(0.001)
    return False


def test_it_stands_still_from_an_answer_to_the_next_request(line):
    session = Session(line)
    assert not stops_within(line, 0.1)
    for _ in range(3):
        session.hello()
        assert stops_within(line, 30.0)


def test_it_can_be_read_from_after_a_rest(line):
    line.rest()
    assert line.read(1, 30.0)


def test_it_ends_while_it_rests(line):
    line.rest()
    line.close()
    assert line.exit_status is not None
