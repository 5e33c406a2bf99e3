"""Whole graphs: branches, views and joins equal the references in every bit."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_board, failures_on_host
from graphs import GRAPHS
from joins import JOINS, boxes_as_flattened, boxes_of_scales, images_below_each_other
from model_checks import (
    DSP,
    MVE,
    OPTIONS,
    PLAIN,
    case_checks,
    check_of,
    compiled,
    compiled_graph,
    graph_checks,
    samples_of,
)
from op_case import OpCase, int8
from placed import placed
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.verify import verify
from aot.passes.pipeline import run_meaning
from aot.target import Target
from codegen.lower.lower import lower_graph
from codegen.lower.stages import Lowered
from platforms.poisoned import Poisoned

TARGETS = {"plain": PLAIN, "dsp": DSP}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graphs_keep_the_rules(name):
    verify(GRAPHS[name]())


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(
    "name",
    ["alike_but_for_scales", "flattened_odd_rows", "reshaped_input", "reshaped_twice", "two_inputs"],
)
def test_lowered_stages_equal_the_reference(name, target):
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
def test_rows_need_no_more_memory_than_whole_tensors(name):
    by_rows, whole = (compiled_graph(name, PLAIN, o).plan for o in ("speed", "whole_tensors"))
    assert by_rows.arena_bytes <= whole.arena_bytes


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", GRAPHS)
def test_for_ram_is_never_more_than_for_speed(name, target):
    ram, speed = (compiled_graph(name, target, o).plan for o in ("ram", "speed"))
    assert ram.arena_bytes <= speed.arena_bytes


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("options", ["speed", "size", "whole_tensors"])
def test_portable_c_equals_the_reference(options, tmp_path):
    assert failures_on_host(graph_checks(PLAIN, options), tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("options", ["speed", "ram", "size", "whole_tensors"])
def test_dsp_c_equals_the_reference(options, tmp_path):
    assert failures_on_board(graph_checks(DSP, options), tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_helium_c_equals_the_reference(tmp_path):
    assert failures_on_board(graph_checks(MVE, "speed"), tmp_path / "checks", "mps3-an547") == {}


@pytest.mark.cc
def test_a_check_notices_one_wrong_bit(tmp_path):
    """A harness that never fails would prove nothing."""
    graph = GRAPHS["only_a_reshape"]()
    (sample, _) = samples_of(OpCase("reshape", graph))
    wanted = run_graph(graph, sample)
    wanted["y"] = np.bitwise_xor(wanted["y"], np.eye(1, 24, 7, dtype=np.int8))
    check = check_of("reshape", compiled(graph, PLAIN, OPTIONS["speed"], "k"), [sample], [wanted])
    assert failures_on_host([check], tmp_path / "checks") == {"reshape": 8}


def test_an_output_that_never_changes_is_written_all_the_same():
    constant, dtype = np.array([[5, -7]], np.int8), int8(1, 2)
    graph = Graph("still", ("x",), ("y",), (), {"x": dtype, "y": dtype}, {"y": constant})
    lowered = lower_graph(graph, PLAIN, OPTIONS["speed"])
    assert np.array_equal(run_lowered(lowered, {"x": constant})["y"], constant)


def lowered(graph: Graph, target: Target = PLAIN) -> Lowered:
    return lower_graph(placed(run_meaning(graph).graph), target, OPTIONS["ram"])


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * ("boxes" in n)) for n in JOINS])
def test_joined_rows_equal_the_reference(name, target):
    graph = JOINS[name]()
    verify(graph)
    inputs = OpCase(name, graph).inputs(seed=2)
    made, wanted = run_lowered(lowered(graph, target), inputs), run_graph(graph, inputs)
    assert {name: a.tolist() for name, a in made.items()} == {name: a.tolist() for name, a in wanted.items()}


@pytest.mark.cc
@pytest.mark.parametrize("options", ["ram", "speed"])
@pytest.mark.parametrize("name", JOINS)
def test_garbage_in_free_memory_changes_nothing(name, options, tmp_path):
    graph = JOINS[name]()
    poisoned = Poisoned(compiled(graph, PLAIN, OPTIONS[options], "k"), tmp_path)
    inputs = OpCase(name, graph).inputs(seed=3)
    made, wanted = poisoned.run(inputs), run_graph(graph, inputs)
    assert poisoned.poisoned_bytes > 0
    assert all(np.array_equal(made[value], wanted[value]) for value in graph.outputs)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("options", ["ram", "whole_tensors"])
def test_on_the_board_outputs_equal_the_reference(options, tmp_path):
    cases = [OpCase(name, maker()) for name, maker in JOINS.items()]
    assert failures_on_board(case_checks(cases, DSP, options), tmp_path / "checks") == {}


@pytest.mark.parametrize("maker", [boxes_of_scales, boxes_as_flattened])
def test_heads_write_where_their_boxes_belong(maker):
    made = lowered(maker())
    assert not [stage.name for stage in made.stages if stage.op == "concat"]
    heads = [stage for stage in made.stages if stage.name.startswith("node head")]
    assert len({stage.writes for stage in heads}) == 1
    assert [stage.result.rows_each for stage in heads] == [30, 15, 9][: len(heads)]


def test_only_what_others_read_or_nobody_makes_is_copied():
    copied = [stage.values for stage in lowered(images_below_each_other()).stages if stage.op == "concat"]
    assert copied == [(), ("lower",), ("kept",)]


@pytest.mark.slow
def test_the_image_before_a_head_need_not_be_whole():
    """With the input elsewhere: beside it, to be rid of it early is worth more."""
    model = compiled(boxes_of_scales(), PLAIN, replace(OPTIONS["ram"], caller_owns_io=True), "k")
    (stem,) = (layer for layer in model.layers if layer.output == "stem")
    assert (model.plan.buffers["stem"].rows_held, stem.rows) == (3, 12)
