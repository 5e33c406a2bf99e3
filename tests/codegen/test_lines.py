"""Models along time and products of matrices: in rows they need a part of the memory, at little cost."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from graphs import GRAPHS, Draft, attention
from lines import ALONG_TIME
from model_checks import DSP, OPTIONS, PLAIN, compiled
from op_case import OpCase, Weights, int8
from placed import placed
from row_machine import run_lowered
from tuned_layers import tuned_layers

from aot.errors import FitError
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.verify import verify
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add
from aot.ops.rearrange import Rearrange
from aot.passes.pipeline import run_meaning
from aot.passes.sequence_rows import choose_rows
from aot.target import Optimize
from benchmarks.memory import BOARD, run_on
from boards.board import Board
from codegen.compile import CompiledModel, compile_plan
from codegen.fit.placement_search import MEASURED_COSTS
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions
from platforms.board_files import load_board
from platforms.poisoned import Poisoned
from platforms.shared_library import build

LINES = ("time_series", "line_of_samples")
LOSSES = (0.3, 1.0, 100.0)


@pytest.mark.slow
@pytest.mark.parametrize("is_pushed", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", LINES)
def test_broken_lines_give_the_same_results(name, loss, is_pushed):
    graph = run_meaning(GRAPHS[name]()).graph
    broken = placed(graph, loss, is_pushed)
    assert "windows" in {node.op.name for node in broken.nodes}
    inputs = OpCase(name, graph).inputs(seed=3)
    wanted = run_graph(graph, inputs)
    given = {name: array.reshape(broken.types[name].shape) for name, array in inputs.items()}
    for made in (run_graph(broken, given), run_lowered(lower_graph(broken, DSP, CompileOptions()), given)):
        for value in graph.outputs:
            assert np.array_equal(made[value].reshape(wanted[value].shape), wanted[value])


def test_what_is_not_a_line_stays_the_very_same_graph():
    graph = run_meaning(GRAPHS["residual"]()).graph
    assert placed(graph, LOSSES[-1]) is graph


def test_no_line_is_broken_where_that_may_take_no_time():
    graph = run_meaning(GRAPHS["time_series"]()).graph
    assert placed(graph, 0.0) is graph


@pytest.mark.slow
@pytest.mark.parametrize("disabled", [(), ("split-sequences-into-rows",)])
def test_no_line_is_broken_where_that_is_disabled(disabled):
    options = CompileOptions(ram=600, disabled_passes=disabled)
    if disabled:
        with pytest.raises(FitError, match=r"\d+ bytes"):
            compiled(GRAPHS["time_series"](), PLAIN, options, "k")
    else:
        model = compiled(GRAPHS["time_series"](), PLAIN, options, "k")
        assert "windows" in {node.op.name for node in model.graph.nodes}


@pytest.mark.slow
def test_a_budget_breaks_lines_as_far_as_it_must():
    graph = GRAPHS["time_series"]()

    def arena(options: CompileOptions) -> int:
        return compiled(graph, PLAIN, options, "k").plan.arena_bytes

    whole = arena(CompileOptions(Optimize.RAM, rows=False))
    with pytest.raises(FitError, match="--ram 360") as refused:
        arena(CompileOptions(ram=360))
    least = int(re.findall(r"needs ([\d,]+) bytes", refused.value.what)[0].replace(",", ""))
    assert least < 0.7 * whole
    budgets = (whole, (whole + least) // 2, least)
    assert all(arena(CompileOptions(ram=budget)) <= budget for budget in budgets)


@pytest.mark.cc
@pytest.mark.parametrize("loss", LOSSES[1:])
@pytest.mark.parametrize("name", LINES)
def test_garbage_in_free_memory_changes_nothing(name, loss, tmp_path):
    graph = run_meaning(GRAPHS[name]()).graph
    model = compiled(placed(graph, loss), PLAIN, CompileOptions(Optimize.RAM), "k")
    inputs = OpCase(name, graph).inputs(seed=4)
    made, wanted = Poisoned(model, tmp_path).run(inputs), run_graph(graph, inputs)
    assert all(np.array_equal(made[value], wanted[value]) for value in graph.outputs)


@pytest.mark.cc
def test_samples_are_pushed_as_they_come(tmp_path):
    graph = GRAPHS["time_series"]()
    model = compiled(graph, PLAIN, CompileOptions(Optimize.RAM, stream=True), "k")
    assert model.inputs[0].type.shape == (1, 72, 1, 5), "one step of time at once"
    library = build(model.sources, tmp_path)
    for seed in range(3):
        inputs = OpCase("t", graph).inputs(seed)
        (x,) = inputs.values()
        made = library.run({model.inputs[0].name: x.reshape(1, 72, 1, 5)})
        assert np.array_equal(made["y"], run_graph(graph, inputs)["y"])


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


def test_scores_with_a_column_for_each_query_are_never_whole():
    plan = compiled(keys_first(), PLAIN, CompileOptions(), "k").plan
    assert [plan.buffers[f"{name}/lines/rows"].rows_held for name in ("scores", "masked", "soft")] == [1] * 3
    assert plan.arena_bytes < 4 * HEADS * STEPS * DEPTH + HEADS * STEPS * STEPS


def test_values_between_dense_layers_are_held_vector_by_vector():
    d = Draft()
    up = d.reshape("up", d.dense("wide", d.input("x", STEPS, DEPTH), 64), 1, STEPS, 64)
    gain = Weights(int8(1, 1, 64), np.full((1, 1, 64), 40, np.int8))
    scaled = d.node("scaled", Add(), up, quant=int8(scale=0.3), weights=[gain])
    graph = d.graph(d.dense("y", d.reshape("flat", scaled, STEPS, 64), 8))
    plan = compiled(graph, PLAIN, CompileOptions(), "k").plan
    assert [plan.buffers[name].rows_held for name in ("wide", "scaled/rows")] == [1, 1]
    assert plan.arena_bytes <= STEPS * (DEPTH + 8) + 2 * 64


@pytest.mark.cc
def test_attention_with_keys_first_keeps_every_bit(tmp_path):
    model = compiled(keys_first(), PLAIN, CompileOptions(), "k")
    inputs = OpCase("keys_first", keys_first()).inputs(seed=4)
    made, wanted = Poisoned(model, tmp_path).run(inputs), run_graph(keys_first(), inputs)
    assert np.array_equal(made["y"], wanted["y"])


@pytest.mark.parametrize("goal", [Optimize.RAM, Optimize.SPEED])
def test_the_scores_of_some_lines_are_held_at_once(goal):
    plan = compiled(long_attention(), PLAIN, CompileOptions(goal), "k").plan
    assert [plan.buffers[name].rows_held for name in ("scores/rows", "soft/rows")] == [1, 1]
    inputs_and_output, row = 4 * HEADS * STEPS * DEPTH, 4 * STEPS
    assert plan.arena_bytes <= inputs_and_output + 2 * row


@pytest.mark.cc
def test_garbage_in_free_memory_changes_no_attention(tmp_path):
    model = compiled(attention(), PLAIN, CompileOptions(Optimize.RAM), "k")
    inputs = OpCase("attention", attention()).inputs(seed=4)
    made, wanted = Poisoned(model, tmp_path).run(inputs), run_graph(attention(), inputs)
    assert np.array_equal(made["y"], wanted["y"])


def test_rows_that_come_in_turn_need_no_table():
    source = compiled(attention(), PLAIN, CompileOptions(), "k").sources["k.c"]
    assert "row_of_k(run, row / 2u)" in source
    assert "row % 2u" in source
    assert "_rows[" not in source


def test_a_constant_mask_is_stored_once_for_all_heads():
    model = compiled(attention(), PLAIN, CompileOptions(), "k")
    assert "k_causal_b + (row % 2u) * 72u" in model.sources["k.c"]
    (layer,) = [layer for layer in model.layers if layer.name == "node causal"]
    assert layer.weight_bytes == 6 * 24 * 4


MOST_MORE = 0.05  # of the instructions


@dataclass(frozen=True)
class AlongTime:
    """A network along time for a board, in rows and in whole tensors."""

    board: Board
    plan: CompiledPlan
    rows: CompiledModel
    whole: CompiledModel


@pytest.fixture(scope="module", params=ALONG_TIME)
def along_time(request):
    graph, board = ALONG_TIME[request.param](), load_board(BOARD)
    verify(graph)
    job = Job(ImportedModel(graph, "k", "0" * 64, "k"), board.target, OPTIONS["ram"])
    plan, whole = plan_job(job), plan_job(replace(job, options=replace(job.options, rows=False)))
    return AlongTime(board, plan, compile_plan(plan), compile_plan(whole))


@pytest.mark.slow
def test_lines_for_ram_take_less_memory_than_whole_ones(along_time):
    assert along_time.rows.plan.arena_bytes < 0.85 * along_time.whole.plan.arena_bytes


@pytest.mark.slow
def test_the_tasks_of_lines_are_the_kernels_of_their_compiled_model(along_time):
    """`deploy tune` measures what is compiled where memory is the goal, too."""
    found = tuned_layers(along_time.plan, along_time.rows)
    assert found.tasks == found.compiled


def test_lines_with_little_work_take_the_time_that_others_leave():
    pixels = choose_rows(run_meaning(ALONG_TIME["motion"]()).graph, MOST_MORE, MEASURED_COSTS).pixels
    assert {name: pixels[name] for name in ("deep.made", "pool made", "last one.made")} == {
        "deep.made": 8,
        "pool made": 4,
        "last one.made": 8,
    }


@pytest.mark.slow
@pytest.mark.parametrize("along_time", ["separable"], indirect=True)
def test_windows_that_are_multiplied_once_stay_narrow_where_there_is_room_for_wide_ones(along_time):
    """Widening a copy of each element costs more than a depthwise layer saves by it."""
    layers = along_time.rows.layers
    windows = {layer.name: layer.format.dtype_bytes for layer in layers if layer.op == "windows"}
    assert {name: size for name, size in windows.items() if "deep" in name} == {
        f"deep{n} made/windows": 1 for n in range(4)
    }


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_lines_for_ram_take_at_most_a_twentieth_more_instructions(along_time):
    (rows, _), (whole, _) = (run_on(model, along_time.board) for model in (along_time.rows, along_time.whole))
    assert rows is not None
    assert whole is not None
    assert rows <= (1 + MOST_MORE) * whole
