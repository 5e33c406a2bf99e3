"""Models along time: broken into rows they need a part of the memory, for little more instructions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graphs import GRAPHS
from model_checks import DSP, PLAIN, compiled
from op_case import OpCase
from placed import placed
from row_machine import run_lowered

from aot.errors import FitError
from aot.interpret import run_graph
from aot.passes.pipeline import run_meaning
from aot.target import Optimize
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions
from platforms.poisoned import Poisoned
from platforms.shared_library import build

LINES = ("time_series", "line_of_samples")
LOSSES = (0.3, 1.0, 100.0)


@pytest.mark.slow
@pytest.mark.parametrize("is_pushed", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", LINES)
def test_broken_lines_give_the_same_results(name: str, loss: float, is_pushed: bool) -> None:
    graph = run_meaning(GRAPHS[name]()).graph
    broken = placed(graph, loss, is_pushed)
    assert "windows" in {node.op.name for node in broken.nodes}
    inputs = OpCase(name, graph).inputs(seed=3)
    wanted = run_graph(graph, inputs)
    given = {name: array.reshape(broken.types[name].shape) for name, array in inputs.items()}
    for made in (run_graph(broken, given), run_lowered(lower_graph(broken, DSP, CompileOptions()), given)):
        for value in graph.outputs:
            assert np.array_equal(made[value].reshape(wanted[value].shape), wanted[value])


def test_what_is_not_a_line_stays_the_very_same_graph() -> None:
    graph = run_meaning(GRAPHS["residual"]()).graph
    assert placed(graph, LOSSES[-1]) is graph


def test_no_line_is_broken_where_that_may_take_no_time() -> None:
    graph = run_meaning(GRAPHS["time_series"]()).graph
    assert placed(graph, 0.0) is graph


@pytest.mark.slow
@pytest.mark.parametrize("disabled", [(), ("split-sequences-into-rows",)])
def test_no_line_is_broken_where_that_is_disabled(disabled: tuple[str, ...]) -> None:
    options = CompileOptions(ram_bytes=600, disabled_passes=disabled)
    if disabled:
        with pytest.raises(FitError, match="bytes at least"):
            compiled(GRAPHS["time_series"](), PLAIN, options, "k")
    else:
        model = compiled(GRAPHS["time_series"](), PLAIN, options, "k")
        assert "windows" in {node.op.name for node in model.graph.nodes}


@pytest.mark.slow
def test_a_budget_breaks_lines_as_far_as_it_must() -> None:
    graph = GRAPHS["time_series"]()

    def arena(options: CompileOptions) -> int:
        return compiled(graph, PLAIN, options, "k").plan.arena_bytes

    whole = arena(CompileOptions(Optimize.RAM, rows=False))
    with pytest.raises(FitError, match=r"bytes at least, .* more than --ram 360 allows") as refused:
        arena(CompileOptions(ram_bytes=360))
    least = int(re.findall(r"needs ([\d,]+) bytes", refused.value.what)[0].replace(",", ""))
    assert least < 0.7 * whole
    budgets = (whole, (whole + least) // 2, least)
    assert all(arena(CompileOptions(ram_bytes=budget)) <= budget for budget in budgets)


@pytest.mark.cc
@pytest.mark.parametrize("loss", LOSSES[1:])
@pytest.mark.parametrize("name", LINES)
def test_garbage_in_free_memory_changes_nothing(
    name: str, loss: float, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("gcc")
    graph = run_meaning(GRAPHS[name]()).graph
    model = compiled(placed(graph, loss), PLAIN, CompileOptions(Optimize.RAM), "k")
    inputs = OpCase(name, graph).inputs(seed=4)
    made, wanted = Poisoned(model, tmp_path).run(inputs), run_graph(graph, inputs)
    assert all(np.array_equal(made[value], wanted[value]) for value in graph.outputs)


@pytest.mark.cc
def test_samples_are_pushed_as_they_come(tmp_path: Path, require_tool: Callable[..., None]) -> None:
    require_tool("gcc")
    graph = GRAPHS["time_series"]()
    model = compiled(graph, PLAIN, CompileOptions(Optimize.RAM, stream=True), "k")
    assert model.inputs[0].type.shape == (1, 72, 1, 5), "one step of time at once"
    library = build(model.sources, tmp_path)
    for seed in range(3):
        inputs = OpCase("t", graph).inputs(seed)
        (x,) = inputs.values()
        made = library.run({model.inputs[0].name: x.reshape(1, 72, 1, 5)})
        assert np.array_equal(made["y"], run_graph(graph, inputs)["y"])
