"""An emulator that counts is kept on one processor: its threads hand every byte to one another."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from platforms.runners import one_processor
from platforms.runners.qemu import QemuLine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a process on a processor")
SLEEPS = (sys.executable, "-c", "import time; time.sleep(600)")
ALL = os.sched_getaffinity(0) if sys.platform == "linux" else set()


@pytest.fixture(autouse=True)
def _no_others(monkeypatch):
    """Lines that other tests have open count for no test here."""
    monkeypatch.setattr(one_processor, "_kept", {})


@contextmanager
def emulator(*more: str) -> Iterator[set[int]]:
    """The processors that a program is kept on which stands for QEMU."""
    line = QemuLine((*SLEEPS, *more))
    try:
        yield os.sched_getaffinity(line._process.pid)
    finally:
        line.close()


def test_each_is_on_a_processor_of_its_own_as_far_as_there_are_any():
    with emulator("-icount", "shift=3") as one, emulator("-icount", "shift=3") as other:
        assert len(one) == len(other) == 1
        assert len(one | other) == min(len(ALL), 2)
        with emulator("-icount", "shift=3") as third:
            assert third <= ALL


def test_one_that_has_ended_leaves_its_processor_to_others():
    with emulator("-icount", "shift=3") as first, emulator("-icount", "shift=3"):
        assert set(one_processor._kept.values()) >= first
    assert one_processor._kept == {}


def test_one_that_does_not_count_has_a_thread_for_each_core_and_stays_free():
    with emulator() as processors:
        assert processors == ALL
