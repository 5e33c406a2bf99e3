"""benchmarks/pytorch.md has each network, and none is further from PyTorch than a ten-thousandth."""

from __future__ import annotations

from pathlib import Path

from benchmarks.pages import table_lines
from benchmarks.pytorch import HEAD
from benchmarks.pytorch_networks import NETWORKS


def test_the_table_of_pytorchs_networks_is_whole(repo_root: Path) -> None:
    page = (repo_root / "benchmarks" / "pytorch.md").read_text(encoding="utf-8")
    assert page.startswith(HEAD)
    rows = [[cell.strip() for cell in line.split("|")] for line in table_lines(page, HEAD)]
    assert [row[1] for row in rows] == list(NETWORKS)
    assert all(float(row[5]) < 1e-4 for row in rows)
