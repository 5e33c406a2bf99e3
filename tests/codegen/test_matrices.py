"""Attention: products of matrices go line by line, so that its scores never exist whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graphs import Draft, attention
from model_checks import PLAIN, compiled
from op_case import OpCase, int8

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ops.batch_matmul import BatchMatmul
from aot.target import Optimize
from codegen.options import CompileOptions
from platforms.poisoned import Poisoned

STEPS, DEPTH, HEADS = 40, 8, 2


def long_attention() -> Graph:
    """More steps than channels: the scores are five times what they are made of."""
    d = Draft()
    q, v = (d.input(name, 1, HEADS, STEPS, DEPTH) for name in "qv")
    scores = d.node("scores", BatchMatmul(), q, d.input("k", 1, HEADS, DEPTH, STEPS), quant=int8(scale=0.2))
    return d.graph(d.node("y", BatchMatmul(), d.softmax("soft", scores), v, quant=int8(scale=0.03)))


@pytest.mark.parametrize("goal", [Optimize.RAM, Optimize.SPEED])
def test_the_scores_of_some_lines_are_held_at_once(goal: Optimize) -> None:
    plan = compiled(long_attention(), PLAIN, CompileOptions(goal), "k").plan
    assert [plan.buffers[name].rows_held for name in ("scores/rows", "soft/rows")] == [1, 1]
    inputs_and_output, row = 4 * HEADS * STEPS * DEPTH, 4 * STEPS
    assert plan.arena_bytes <= inputs_and_output + 2 * row


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


def test_a_constant_mask_is_stored_once_for_all_heads() -> None:
    model = compiled(attention(), PLAIN, CompileOptions(), "k")
    assert "k_causal_b + (row % 2u) * 72u" in model.sources["k.c"]
    (layer,) = [layer for layer in model.layers if layer.name == "node causal"]
    assert layer.weight_bytes == 6 * 24 * 4
