"""The committed table of Ethos-U: no model's results are others there than TensorFlow Lite Micro's."""

from __future__ import annotations

from pathlib import Path

from benchmarks.ethos_u import HEAD, NpuRow
from extensions.ethos_u.program import NpuProgram


def test_all_results_in_the_page_are_equal(repo_root: Path) -> None:
    page = (repo_root / "docs" / "ethos-u.md").read_text(encoding="utf-8")
    table = page.partition(HEAD)[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    assert len(rows) >= 20
    assert [row[0] for row in rows if len(set(row[6].split(" of "))) > 1 or row[6] == "0 of 0"] == []


def test_a_row_adds_the_regions_of_a_model() -> None:
    program = NpuProgram(bytes(1200), bytes(32), 640, (0,), (320,), 1500, 500_000_000)
    row = NpuRow("kws", 5, 6, (program, program), 99, 100, 7000)
    assert str(row) == "| kws | 5 of 6 | 2 | 2,400 | 64 | 640 | 99 of 100 | 3,000 | 7,000 |\n"
