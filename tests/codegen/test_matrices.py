"""Attention: products of matrices go line by line, so that its scores never exist whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graphs import attention
from model_checks import PLAIN, compiled
from op_case import OpCase
from poisoned import Poisoned

from aot.interpret import run_graph
from aot.target import Optimize
from codegen.model import CompileOptions

SCORES_BYTES = 4 * 6 * 24


@pytest.mark.parametrize("goal", [Optimize.RAM, Optimize.SPEED])
def test_what_is_made_of_the_scores_takes_a_row_at_a_time(goal: Optimize) -> None:
    plan = compiled(attention(), PLAIN, CompileOptions(goal), "k").plan
    passed_on = ("masked/rows", "lined/rows", "soft/rows")
    assert [plan.buffers[name].rows_held for name in passed_on] == [1] * len(passed_on)
    inputs_and_output = 4 * 6 * 16 + 2 * 4 * 16 * 24 + 2 * 24 + 6 + 4 * 6 * 16
    assert plan.arena_bytes < inputs_and_output + SCORES_BYTES


@pytest.mark.cc
def test_garbage_in_free_memory_changes_nothing(tmp_path: Path, require_tool: Callable[..., None]) -> None:
    require_tool("gcc")
    model = compiled(attention(), PLAIN, CompileOptions(Optimize.RAM), "k")
    inputs = OpCase("attention", attention()).inputs(seed=4)
    made, wanted = Poisoned(model, tmp_path).run(inputs), run_graph(attention(), inputs)
    assert np.array_equal(made["y"], wanted["y"])


def test_rows_that_come_in_turn_need_no_table() -> None:
    source = compiled(attention(), PLAIN, CompileOptions(), "k").sources["k.c"]
    assert "row_of_k(run, row / 2u)" in source
    assert "row % 2u" in source
    assert "_rows[" not in source
