"""The line to an emulator that records: it is given the time that writing takes."""

import sys

import pytest

from platforms.cycles.recording import EmulatorThatWrites
from platforms.transport.pipe import END_OF_INPUT_S

_WRITES_AT_THE_END = "import pathlib, sys, time; sys.stdin.read(); time.sleep({}); pathlib.Path({!r}).touch()"


@pytest.mark.slow
def test_what_an_emulator_writes_when_its_input_ends_is_waited_for(tmp_path):
    file = tmp_path / "trace"
    slow = _WRITES_AT_THE_END.format(END_OF_INPUT_S + 0.2, str(file))  # a plain pipe ends it before that
    EmulatorThatWrites((sys.executable, "-c", slow)).close()
    assert file.exists()
