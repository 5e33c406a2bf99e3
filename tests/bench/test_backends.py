"""The committed table of all accelerators: every model with each, equal results, cycles that are saved."""

from __future__ import annotations

from pathlib import Path

from benchmarks.backends import ASKED, HEAD, HEAD_OF_FILES, MODELS, BackendRow, file_rows
from benchmarks.gemm_npu import MODELS as CONVOLVING
from benchmarks.pages import table_lines
from codegen.accelerators.names import ACCELERATORS

PAGE = Path("benchmarks/backends.md")


def rows(repo_root: Path) -> list[list[str]]:
    page = (repo_root / PAGE).read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table_lines(page, HEAD)]


def test_the_table_has_every_model_with_each_accelerator(repo_root: Path) -> None:
    found = [(model, accelerator) for model, accelerator, *_ in rows(repo_root)]
    assert found == [(model, accelerator) for model in MODELS for accelerator in ACCELERATORS]
    assert tuple(sorted(ASKED)) == tuple(sorted(ACCELERATORS))


def test_no_accelerator_changes_a_bit(repo_root: Path) -> None:
    for model, accelerator, _, equal, *_ in rows(repo_root):
        found, results = equal.split(" of ")
        assert found == results, f"{accelerator} computes {model} with other bits"


def test_the_tensor_accelerator_saves_nine_cycles_of_ten(repo_root: Path) -> None:
    """Where a model has convolutions."""
    times = {row[0]: row[6].replace(",", "") for row in rows(repo_root) if row[1] == "gemm-npu"}
    assert all(float(times[model]) >= 10 for model in CONVOLVING)


def test_the_files_are_those_of_the_folders(repo_root: Path) -> None:
    page = (repo_root / PAGE).read_text(encoding="utf-8")
    names = [row.split("|")[1].strip() for row in table_lines(page, HEAD_OF_FILES)]
    assert names == list(ACCELERATORS)
    assert len(list(file_rows())) == len(names)


def test_a_row_without_cycles_leaves_their_places_free() -> None:
    row = BackendRow("kws", "vanilla", 5, 12, 36, 36, (4000, None), (10, 2000), (30, 40))
    assert str(row) == "| kws | vanilla | 5 of 12 | 36 of 36 | 4,000 |  |  | 10 | 2,000 | 30 | 40 |\n"
    row = BackendRow("kws", "gemm-npu", 5, 12, 36, 36, (4000, 30), (10, 2000), (30, 40))
    assert "| 4,000 | 30 | 133 | 10 |" in str(row)
