"""An op has one file name in three folders: aot/ops, codegen/kernels and tests/ops."""

from __future__ import annotations

from pathlib import Path

import pytest

from aot.ops import OPS
from codegen.kernels.table import KERNELS

STEMS = sorted({op.__module__.removeprefix("aot.ops.") for op in OPS.values()})
VIEWS = {"reshape"}  # only look at memory in another way, so there is nothing to compute


@pytest.mark.parametrize("stem", STEMS)
def test_an_op_has_cases(repo_root: Path, stem: str) -> None:
    assert (repo_root / "tests" / "ops" / f"{stem}_cases.py").is_file(), (
        "write its cases: docs/adding-an-op.md"
    )


@pytest.mark.parametrize("stem", [stem for stem in STEMS if stem not in VIEWS])
def test_an_op_has_kernels(repo_root: Path, stem: str) -> None:
    assert (repo_root / "codegen" / "kernels" / f"{stem}.py").is_file(), (
        "write its kernels there: docs/adding-an-op.md"
    )


def test_the_table_of_kernels_serves_every_op_but_views() -> None:
    assert set(KERNELS) == set(OPS) - VIEWS


def test_the_table_of_ops_names_each_by_its_own_name() -> None:
    assert {name: op.name for name, op in OPS.items()} == {name: name for name in OPS}
