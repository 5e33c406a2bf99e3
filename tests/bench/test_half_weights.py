"""benchmarks/half_weights.md says that half the bytes cost no bit of the outputs."""

from __future__ import annotations

from pathlib import Path

from benchmarks.half_weights import BOARDS, HEAD
from benchmarks.pages import table_lines


def test_the_table_of_half_weights_is_whole(repo_root: Path) -> None:
    page = (repo_root / "benchmarks" / "half_weights.md").read_text(encoding="utf-8")
    assert page.startswith(HEAD)
    rows = [[cell.strip() for cell in line.split("|")] for line in table_lines(page, HEAD)]
    assert [row[1] for row in rows[::2]] == list(BOARDS.values())
    for single, half in zip(rows[::2], rows[1::2], strict=True):
        assert int(half[3].replace(",", "")) < 0.51 * int(single[3].replace(",", ""))
        assert half[6] == "yes"
