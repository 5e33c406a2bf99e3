"""python -m benchmarks passes has a row for each pass that rewrites something in a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.passes import pass_rows


@pytest.mark.slow
def test_a_pass_that_rewrites_has_a_row_of_differences(shared_dir: Path) -> None:
    (row,) = pass_rows("tflm_hello_world_int8")
    model, without, arena, *_ = (cell.strip() for cell in row.strip("|\n").split("|"))
    assert (model, without) == ("tflm_hello_world_int8", "remove-dead-channels")
    assert int(arena) > 0, "the channels that stay take room"
