"""docs/memory.md shows what commands print and what was measured."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.results import read_results

MODELS = {"tiny_kws_dscnn_int8": 0, "tiny_ic_resnet8_int8": 2}  # the first of its two columns


@pytest.fixture
def page(repo_root: Path) -> str:
    return (repo_root / "docs" / "memory.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", ["speed", "ram"])
def test_the_table_of_goals_is_what_was_measured(model: str, goal: str, page: str) -> None:
    (row,) = re.findall(rf"^\| `--optimize {goal}`(?: \(default\))? \| ([\d,| ]+) \|$", page, re.MULTILINE)
    measured = next(
        each
        for each in read_results()
        if (each.model, each.board, each.optimize) == (model, "mps2-an386", goal)
    )
    cells = [int(cell.replace(",", "")) for cell in row.split(" | ")]
    assert cells[MODELS[model] :][:2] == [measured.arena_bytes, measured.instructions]


def test_inspect_prints_the_lines_shown(page: str, run_deploy: Callable[..., Any], shared_dir: Path) -> None:
    """RAM exactly; the estimate of code may move a little."""
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    printed = [
        " ".join(line.split())
        for line in run_deploy("inspect", model, "--board", "mps2-an386").out.splitlines()
    ]
    block = page[page.index("    RAM  ") : page.index("`inspect` estimates")]
    lines = [" ".join(line.split()) for line in block.splitlines() if line.strip()]
    assert len(lines) == 9
    assert [line for line in lines[:5] if line not in printed] == []
    forms = {re.sub(r"[\d,.]+", "#", line) for line in printed}
    assert [line for line in lines if re.sub(r"[\d,.]+", "#", line) not in forms] == []


def test_the_header_of_several_pools_is_the_one_shown(
    page: str, run_deploy: Callable[..., Any], shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    (command,) = re.findall(r"^    \$? ?(deploy run .*--pool.*)$", page, re.MULTILINE)
    words = shlex.split(command)
    pools = [word for i, word in enumerate(words) if word == "--pool" or words[i - 1] == "--pool"]
    board = words[words.index("--board") + 1]
    out = tmp_path / "kws"
    assert run_deploy("compile", model, "--board", board, "--name", "kws", *pools, "-o", out).status == 0
    header = (out / "kws.h").read_text(encoding="utf-8")
    defines = re.findall(r"^#define KWS_\w+_ARENA_BYTES .*$", page, re.MULTILINE)
    assert len(defines) == 2
    assert [line for line in defines if line not in header] == []
