"""python -m benchmarks refined: refined weights bring outputs nearer, on clips that nobody has looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.pages import table_lines
from benchmarks.refined import HEAD, refined_rows


@pytest.mark.slow
def test_refined_weights_lose_less_on_other_clips(
    shared_dir: Path, repo_root: Path, require_package: Callable[..., None]
) -> None:
    require_package("onnxruntime")
    page = (repo_root / "benchmarks" / "refined.md").read_text(encoding="utf-8")
    assert page.startswith(HEAD)
    rows = [[cell.strip() for cell in row.strip("|\n").split("|")] for row in refined_rows()]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table_lines(page, HEAD)]
    assert [line[:3] for line in lines] == [row[:3] for row in rows]
    for plain, refined in (rows[1:3], rows[3:5]):
        before, after, told = (float(cell) for cell in (plain[3], refined[3], refined[4]))
        assert after > before + 3
        assert told == pytest.approx(after, abs=1)
