"""Whole graphs compiled: branches, several outputs, views. Outputs equal the references' in every bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from c_checks import failures_on_board, failures_on_host
from graphs import GRAPHS, graph_cases
from model_checks import DSP, MVE, OPTIONS, PLAIN, case_checks, check_of, compiled, samples_of
from op_case import OpCase, int8
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.verify import verify
from aot.passes.pipeline import run_meaning
from aot.target import Target
from codegen.lower.lower import lower_graph

TARGETS = {"plain": PLAIN, "dsp": DSP}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graphs_keep_the_rules(name: str) -> None:
    verify(GRAPHS[name]())


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(
    "name",
    ["alike_but_for_scales", "flattened_odd_rows", "reshaped_input", "reshaped_twice", "two_inputs"],
)
def test_lowered_stages_equal_the_reference(name: str, target: Target) -> None:
    case = OpCase(name, GRAPHS[name]())
    lowered = lower_graph(run_meaning(case.graph).graph, target, OPTIONS["speed"])
    wanted = run_graph(case.graph, case.inputs())
    made = run_lowered(lowered, case.inputs())
    assert made.keys() == wanted.keys()
    assert {name: a.reshape(wanted[name].shape).tolist() for name, a in made.items()} == {
        name: a.tolist() for name, a in wanted.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_rows_need_no_more_memory_than_whole_tensors(name: str) -> None:
    graph = GRAPHS[name]()
    by_rows, whole = (compiled(graph, PLAIN, OPTIONS[o], "k").plan for o in ("speed", "whole_tensors"))
    assert by_rows.arena_bytes <= whole.arena_bytes


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", GRAPHS)
def test_for_ram_is_never_more_than_for_speed(name: str, target: Target) -> None:
    graph = GRAPHS[name]()
    ram, speed = (compiled(graph, target, OPTIONS[o], "k").plan for o in ("ram", "speed"))
    assert ram.arena_bytes <= speed.arena_bytes


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("options", ["speed", "size", "whole_tensors"])
def test_portable_c_equals_the_reference(
    options: str, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("gcc")
    checks = case_checks(graph_cases(), PLAIN, options)
    assert failures_on_host(checks, tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("options", ["speed", "ram", "size", "whole_tensors"])
def test_dsp_c_equals_the_reference(options: str, require_tool: Callable[..., None], tmp_path: Path) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    checks = case_checks(graph_cases(), DSP, options)
    assert failures_on_board(checks, tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_helium_c_equals_the_reference(require_tool: Callable[..., None], tmp_path: Path) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    checks = case_checks(graph_cases(), MVE, "speed")
    assert failures_on_board(checks, tmp_path / "checks", "mps3-an547") == {}


@pytest.mark.cc
def test_a_check_notices_one_wrong_bit(require_tool: Callable[..., None], tmp_path: Path) -> None:
    """A harness that never fails would prove nothing."""
    require_tool("gcc")
    graph = GRAPHS["only_a_reshape"]()
    (sample, _) = samples_of(OpCase("reshape", graph))
    wanted = run_graph(graph, sample)
    wanted["y"] = np.bitwise_xor(wanted["y"], np.eye(1, 24, 7, dtype=np.int8))
    check = check_of("reshape", compiled(graph, PLAIN, OPTIONS["speed"], "k"), [sample], [wanted])
    assert failures_on_host([check], tmp_path / "checks") == {"reshape": 8}


def test_an_output_that_never_changes_is_written_all_the_same() -> None:
    constant, dtype = np.array([[5, -7]], np.int8), int8(1, 2)
    graph = Graph("still", ("x",), ("y",), (), {"x": dtype, "y": dtype}, {"y": constant})
    lowered = lower_graph(graph, PLAIN, OPTIONS["speed"])
    assert np.array_equal(run_lowered(lowered, {"x": constant})["y"], constant)
