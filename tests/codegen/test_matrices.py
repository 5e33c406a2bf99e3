"""Attention: products of matrices go line by line, so that its scores never exist whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graphs import Draft, attention
from model_checks import PLAIN, compiled
from op_case import OpCase, Weights, int8

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add
from aot.ops.rearrange import Rearrange
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


def keys_first() -> Graph:
    """Attention as einsum exports it: a column of scores for each query, transposed before the softmax."""
    d = Draft()
    q, k, v = (
        d.input(name, 1, STEPS, HEADS, DEPTH, zero_point=z) for name, z in zip("qkv", (7, -9, 5), strict=True)
    )

    def turned(name: str, x: str, shape: tuple[int, ...], *strides: int) -> str:
        return d.node(name, Rearrange((1, *shape), (1, *shape), (0, *strides)), x, quant=d.types[x])

    line, heads, columns = HEADS * DEPTH, (HEADS, STEPS, DEPTH), (HEADS, DEPTH, STEPS)
    by_key, queries = turned("kh", k, heads, DEPTH, line, 1), turned("qt", q, columns, DEPTH, 1, line)
    scores = d.node("scores", BatchMatmul(), by_key, queries, quant=int8(scale=0.2, zero_point=11))
    lines = turned("lines", scores, (STEPS, HEADS, STEPS), 1, STEPS * STEPS, STEPS)
    mask = Weights(int8(1, STEPS, 1, STEPS), np.tril(np.full((1, STEPS, 1, STEPS), 90, np.int8)))
    soft = d.softmax("soft", d.node("masked", Add(), lines, quant=int8(scale=0.3), weights=[mask]))
    back = turned("back", soft, (HEADS, STEPS, STEPS), STEPS, 1, HEADS * STEPS)
    values = turned("vt", v, columns, DEPTH, 1, line)
    sums = d.node("sums", BatchMatmul(), values, back, quant=int8(scale=0.03, zero_point=-4))
    return d.graph(turned("y", sums, (STEPS, HEADS, DEPTH), 1, DEPTH * STEPS, STEPS))


def test_scores_with_a_column_for_each_query_are_never_whole() -> None:
    plan = compiled(keys_first(), PLAIN, CompileOptions(), "k").plan
    assert [plan.buffers[f"{name}/lines/rows"].rows_held for name in ("scores", "masked", "soft")] == [1] * 3
    assert plan.arena_bytes < 4 * HEADS * STEPS * DEPTH + HEADS * STEPS * STEPS


def test_values_between_dense_layers_are_held_vector_by_vector() -> None:
    d = Draft()
    up = d.reshape("up", d.dense("wide", d.input("x", STEPS, DEPTH), 64), 1, STEPS, 64)
    gain = Weights(int8(1, 1, 64), np.full((1, 1, 64), 40, np.int8))
    scaled = d.node("scaled", Add(), up, quant=int8(scale=0.3), weights=[gain])
    graph = d.graph(d.dense("y", d.reshape("flat", scaled, STEPS, 64), 8))
    plan = compiled(graph, PLAIN, CompileOptions(), "k").plan
    assert [plan.buffers[name].rows_held for name in ("wide", "scaled/rows")] == [1, 1]
    assert plan.arena_bytes <= STEPS * (DEPTH + 8) + 2 * 64


@pytest.mark.cc
def test_attention_with_keys_first_keeps_every_bit(tmp_path: Path, require_tool: Callable[..., None]) -> None:
    require_tool("gcc")
    model = compiled(keys_first(), PLAIN, CompileOptions(), "k")
    inputs = OpCase("keys_first", keys_first()).inputs(seed=4)
    made, wanted = Poisoned(model, tmp_path).run(inputs), run_graph(keys_first(), inputs)
    assert np.array_equal(made["y"], wanted["y"])


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
