"""The committed table of gemm-npu: equal results, and at least ten times fewer cycles of the core."""

from __future__ import annotations

from pathlib import Path

from benchmarks.gemm_npu import HEAD, MODELS, GemmNpuRow
from benchmarks.pages import table_lines


def test_the_table_meets_its_bars(repo_root: Path) -> None:
    page = (repo_root / "benchmarks" / "gemm-npu.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in table_lines(page, HEAD)]
    assert tuple(row[0] for row in rows) == MODELS
    assert all(len(set(row[2].split(" of "))) == 1 for row in rows)
    assert all(int(row[5].replace(",", "")) >= 10 for row in rows)
    assert all(int(row[7].replace(",", "")) < int(row[6].replace(",", "")) for row in rows)


def test_a_row_says_gain_and_sum() -> None:
    row = GemmNpuRow("kws", 11, 12, 36, 36, 4000, 40, {1: 100, 2: 90}, 8, 64, 32)
    assert (
        str(row) == "| kws | 11 of 12 | 36 of 36 | 4,000 | 40 | 100 | 100 | 90 | 10 % | 130 | 8 | 64 | 32 |\n"
    )
