"""python -m benchmarks wide-activations: more values of 16 bits lose less, on clips of no calibration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.pages import table_lines
from benchmarks.wide_activations import HEAD, wide_rows


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.qemu
def test_the_page_is_what_the_command_prints(
    shared_dir: Path,
    repo_root: Path,
    require_package: Callable[..., None],
    require_tool: Callable[..., None],
) -> None:
    require_package("onnxruntime")
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    page = (repo_root / "benchmarks" / "wide_activations.md").read_text(encoding="utf-8")
    assert page.startswith(HEAD)
    rows = [[cell.strip() for cell in row.strip("|\n").split("|")] for row in wide_rows()]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table_lines(page, HEAD)]
    assert [line[:2] for line in lines] == [row[:2] for row in rows]
    losses = [float(row[3]) for row in rows]
    assert losses == sorted(losses)
    assert losses[-1] > losses[0] + 10
