"""The committed page of this machine: no model takes more instructions than in TensorFlow Lite Micro."""

from __future__ import annotations

from pathlib import Path

import benchmarks.host
from benchmarks.host import HEAD, HostRow
from benchmarks.pages import table_lines

PAGE = Path(benchmarks.host.__file__).with_name("host.md")


def test_no_model_takes_more_instructions_here_than_in_tflite_micro() -> None:
    rows = [line.strip("| ").split(" | ") for line in table_lines(PAGE.read_text(), HEAD)]
    assert rows
    assert not [name for name, ours, theirs, *_ in rows if _number(ours) > _number(theirs)]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def test_a_row_has_both_sides_and_their_ratios() -> None:
    row = HostRow("kws", {"ours": 1500, "tflm": 6000}, {"ours": 2e-6, "tflm": 3e-6})
    assert str(row) == "| kws | 1,500 | 6,000 | 0.25 | 2.0 | 3.0 | 0.67 |\n"
