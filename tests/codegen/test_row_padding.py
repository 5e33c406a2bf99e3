"""Margins cost much where rows are narrow: layers do without them where that makes the arena smaller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import Draft
from model_checks import DSP, OPTIONS, PLAIN, compiled
from op_case import int8

from aot.errors import FitError
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ops.max_pool2d import MaxPool2d
from aot.target import Target
from codegen.model import CompiledModel
from platforms.poisoned import Poisoned
from platforms.shared_library import HostModel, build


def narrow() -> Graph:
    """Rows of five pixels of many channels, as keyword spotting has them."""
    d = Draft()
    x = d.input("x", 1, 12, 5, 4)
    for block in "abc":
        x = d.depthwise(f"{block}1", d.conv(f"{block}0", x, 32, size=1))
    return d.graph(d.conv("y", x, 4))


def two_fills() -> Graph:
    """What lies beyond an image is its zero point for one reader and the least value for the other."""
    d = Draft()
    x = d.conv("x0", d.input("x", 1, 9, 6, 8), 8, size=1)
    pooled = d.node(
        "pooled", MaxPool2d((3, 3), (1, 1), ((1, 1), (1, 1))), x, quant=int8(scale=0.04, zero_point=-9)
    )
    return d.graph(d.add("y", d.conv("c", x, 8), pooled))


def model(options: str, target: Target = DSP, **limits: object) -> CompiledModel:
    return compiled(narrow(), target, replace(OPTIONS[options], **limits), "narrow")  # type: ignore[arg-type]


def is_bare(made: CompiledModel) -> bool:
    return not any(layer.format.left for layer in made.layers)


@pytest.mark.slow
@pytest.mark.parametrize("target", [PLAIN, DSP], ids=lambda target: target.core)
def test_no_row_of_zero_points_is_in_memory_where_memory_is_the_goal(target: Target) -> None:
    assert not any(layer.format.top or layer.format.bottom for layer in model("ram", target).layers)


@pytest.mark.slow
def test_narrow_rows_lose_their_padding_where_memory_is_the_goal() -> None:
    ram, speed = model("ram"), model("speed")
    assert is_bare(ram)
    assert not is_bare(speed)
    rows = sum(3 * layer.format.channels for layer in speed.layers if layer.format.left)
    assert ram.plan.arena_bytes < speed.plan.arena_bytes - rows


@pytest.mark.slow
def test_a_budget_that_rows_with_margins_do_not_meet_is_met_without() -> None:
    least = model("ram").plan.arena_bytes
    assert model("speed", ram_bytes=least).plan.arena_bytes <= least
    assert not is_bare(model("speed", ram_bytes=2 * least))
    with pytest.raises(FitError, match="bytes at least"):
        model("speed", ram_bytes=least // 2)


@pytest.mark.slow
def test_the_weights_of_an_edge_are_those_of_the_whole_window() -> None:
    """The depthwise layer between them stores weights with the numbers of their scales."""
    kept = ("narrow_a0_w", "narrow_b0_w", "narrow_y_w")
    ram, speed = (sum(model(o).parameters[name].nbytes for name in kept) for o in ("ram", "speed"))
    assert ram == speed


def test_where_constants_have_pointers_of_their_own_rows_beyond_are_in_memory() -> None:
    avr = Target("avr", constant_space="__flash")
    assert not any("row_of_" in name for name in model("ram", avr).parameters)


@pytest.mark.cc
@pytest.mark.parametrize("graph", [narrow, two_fills], ids=lambda graph: graph.__name__)
def test_garbage_in_free_memory_changes_nothing(
    graph: Callable[[], Graph], require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("gcc")
    made = compiled(graph(), PLAIN, OPTIONS["ram"], "m")
    assert any("row_of_" in name for name in made.parameters)
    assert same(made, graph(), Poisoned(made, tmp_path))


@pytest.mark.cc
def test_a_streamed_input_is_read_without_margins(require_tool: Callable[..., None], tmp_path: Path) -> None:
    require_tool("gcc")
    made = compiled(narrow(), PLAIN, replace(OPTIONS["ram"], stream=True), "m")
    assert any("row_of_" in name for name in made.parameters)
    assert same(made, narrow(), build(made.sources, tmp_path))


def same(made: CompiledModel, graph: Graph, host: Poisoned | HostModel) -> bool:
    x = np.random.default_rng(3).integers(-128, 128, made.inputs[0].type.shape, np.int8)
    return np.array_equal(host.run({"x": x})["y"], run_graph(graph, {"x": x})["y"])


def test_a_ring_of_its_own_memory_is_filled_once_and_another_row_by_row() -> None:
    """Rows overwrite their pixels only, so padding stays where nobody else writes it."""
    text = model("speed").sources["narrow.c"]
    assert text.count("{ /* above the image and around all rows */") >= 3
    for fill in text.split("{ /* above the image and around all rows */")[1:]:
        assert fill.split("}")[0].count("fill_") == 1
    assert "first use of this memory" not in text
