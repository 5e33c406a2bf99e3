"""Outputs that show a result in other rows are made where they lie; planes are filled as rows come."""

from dataclasses import replace

import numpy as np
import pytest
from c_checks import failures_on_board, failures_on_host
from model_checks import DSP, OPTIONS, PLAIN, case_checks, compiled
from op_case import OpCase
from row_machine import run_lowered
from shown import (
    IN_PLANES,
    SHOWN,
    integers_in_planes,
    product_in_other_rows,
    reals_in_planes,
)

from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ir.verify import verify
from aot.passes.pipeline import run_meaning
from aot.plan.model import Pool
from aot.target import MemoryRegion, Optimize, Target
from codegen.compile import CompiledModel
from codegen.fit import placement_search
from codegen.fit.placement_search import min_gain_bytes, spreads_tried
from codegen.lower.decisions import decisions_for
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions
from platforms.board_files import load_board
from platforms.poisoned import Poisoned
from platforms.shared_library import build

BOARD = load_board("mps2-an386").target
OUTPUT_BYTES = 4096
FAST = ("planes_of_odd_rows", "shown_twice")
FILES = {
    # file: the layers, and the arena beside the output, for speed and for least memory
    reals_in_planes: (["rearrange", "conv2d", "rearrange"], 1592, 1472),
    integers_in_planes: (["quantize", "rearrange", "conv2d", "rearrange"], 1260, 800),
    product_in_other_rows: (["dense"], 64, 64),
}


def model_of(file: bytes, options: CompileOptions) -> CompiledModel:
    return compiled(read_onnx(file, "net.onnx"), BOARD, options, "net")


@pytest.mark.parametrize("maker", FILES, ids=lambda maker: maker.__name__)
def test_the_arena_has_the_output_once(maker):
    ops, speed_bytes, ram_bytes = FILES[maker]
    speed, ram = (model_of(maker(), OPTIONS[goal]) for goal in ("speed", "ram"))
    assert [layer.op for layer in speed.layers] == [layer.op for layer in ram.layers] == ops
    assert speed.plan.arena_bytes == OUTPUT_BYTES + speed_bytes
    assert ram.plan.arena_bytes == OUTPUT_BYTES + ram_bytes
    assert [output.bytes for output in ram.outputs] == [OUTPUT_BYTES]


@pytest.mark.parametrize("maker", FILES, ids=lambda maker: maker.__name__)
def test_an_output_of_the_callers_has_no_double_in_the_arena(maker):
    apart = model_of(maker(), CompileOptions(caller_owns_io=True))
    assert apart.plan.arena_bytes < OUTPUT_BYTES / 3


def test_rows_go_to_their_places_as_they_come():
    model = model_of(reals_in_planes(), OPTIONS["speed"])
    image, planes = model.layers[-2:]
    assert planes.kernel == "spread"
    assert model.plan.buffers[image.output].rows_held == 1
    assert planes.output == model.outputs[0].name  # the memory that the caller looks at


def test_where_that_takes_more_the_image_is_turned_at_once():
    """What is read is three times as large as the output: that must not lie beside it as a whole."""
    model = compiled(SHOWN["planes_behind_a_large_input"](), PLAIN, OPTIONS["speed"], "net")
    assert [layer.kernel for layer in model.layers][-1] == "flat"


@pytest.mark.parametrize("name", IN_PLANES)
def test_all_that_is_turned_can_be_turned_row_by_row(name):
    graph = SHOWN[name]()
    verify(graph)
    nobody, everybody, *_ = spreads_tried(run_meaning(graph).graph, OPTIONS["speed"])
    assert not nobody
    assert len(everybody) == sum(node.op.name == "rearrange" for node in graph.nodes)


@pytest.mark.parametrize("name", SHOWN)
def test_lowered_stages_equal_the_reference_wherever_results_go(name):
    graph = run_meaning(SHOWN[name]()).graph
    verify(graph)
    inputs = OpCase(name, graph).inputs(seed=2)
    wanted = run_graph(graph, inputs)
    for spread in spreads_tried(graph, OPTIONS["speed"]):
        decided = replace(decisions_for(graph, Optimize.SPEED), spread=spread)
        lowered = lower_graph(graph, DSP, OPTIONS["speed"], decided)
        moves = [stage for stage in lowered.stages if stage.op == "rearrange"]
        assert all((stage.kernel.spread is not None) == bool(spread) for stage in moves)
        made = run_lowered(lowered, inputs)
        for output in graph.outputs:
            found = made[lowered.delivered.get(output, output)].reshape(wanted[output].shape)
            assert np.array_equal(found, wanted[output]), (output, spread)


def test_what_saves_next_to_nothing_is_not_worth_the_calls(monkeypatch):
    assert min_gain_bytes(8192) == 8192 - 256
    monkeypatch.setattr(placement_search, "min_gain_bytes", lambda _: 4000)
    kernels = [layer.kernel for layer in model_of(reals_in_planes(), OPTIONS["speed"]).layers]
    assert "spread" not in kernels


def test_planes_are_filled_as_rows_come_with_and_without_a_limit():
    kernels = [
        [layer.kernel for layer in model_of(reals_in_planes(), CompileOptions(ram=limit)).layers]
        for limit in (None, 6000)
    ]
    assert ["spread" in each for each in kernels] == [True, True]


@pytest.mark.cc
@pytest.mark.parametrize(
    "options", [pytest.param(name, marks=[pytest.mark.slow] * (name != "ram")) for name in OPTIONS]
)
def test_compiled_c_equals_the_reference(options, tmp_path):
    cases = [OpCase(name, maker()) for name, maker in SHOWN.items()]
    assert failures_on_host(case_checks(cases, PLAIN, options), tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_on_the_board_outputs_equal_the_reference(tmp_path):
    cases = [OpCase(name, maker()) for name, maker in SHOWN.items()]
    assert failures_on_board(case_checks(cases, DSP, "ram"), tmp_path / "checks") == {}


@pytest.mark.cc
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in FAST)) for n in SHOWN])
def test_garbage_in_free_memory_changes_nothing(name, tmp_path):
    graph = SHOWN[name]()
    poisoned = Poisoned(compiled(graph, PLAIN, OPTIONS["ram"], "k"), tmp_path)
    inputs = OpCase(name, graph).inputs(seed=3)
    made, wanted = poisoned.run(inputs), run_graph(graph, inputs)
    assert all(np.array_equal(made[value], wanted[value]) for value in graph.outputs)


@pytest.mark.cc
@pytest.mark.parametrize("maker", FILES, ids=lambda maker: maker.__name__)
def test_the_files_as_c_equal_the_reference(maker, tmp_path):
    graph = read_onnx(maker(), "net.onnx")
    host = build(compiled(graph, PLAIN, OPTIONS["ram"], "net").sources, tmp_path)
    inputs = OpCase("net", graph).inputs(seed=4)
    made, wanted = host.run(inputs), run_graph(graph, inputs)
    for value in graph.outputs:  # a compiler may fuse products and sums of floats
        near = 0 if made[value].dtype == np.int8 else 1e-6 * np.abs(wanted[value]).max()
        assert np.abs(made[value].astype(float) - wanted[value]).max() <= near


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in IN_PLANES if name != "sequence_by_channels"])
def test_a_streamed_image_ends_in_planes(name, tmp_path):
    graph = SHOWN[name]()
    model = compiled(graph, PLAIN, CompileOptions(stream=True), "k")
    inputs = OpCase(name, graph).inputs(seed=5)
    made, wanted = build(model.sources, tmp_path).run(inputs), run_graph(graph, inputs)
    assert all(np.array_equal(made[value], wanted[value]) for value in graph.outputs)


MEMORIES = (MemoryRegion("SLOW", 1 << 20, 1 << 18, "ram", speed=1), MemoryRegion("FAST", 0, 1 << 16, "ram"))
OTHER_WAYS = {
    "at the caller's": (PLAIN, CompileOptions(caller_owns_io=True)),
    "in two memories": (
        Target("host", regions=MEMORIES, pointer_bytes=8),
        CompileOptions(pools=(Pool("FAST", 220), Pool("SLOW", 140))),
    ),
    "behind an accelerator's convolution": (
        Target("host", pointer_bytes=8),
        CompileOptions(accelerators=("strawberry",)),
    ),
    "observed": (PLAIN, CompileOptions(observe=True)),
}


@pytest.mark.cc
@pytest.mark.parametrize("way", OTHER_WAYS)
def test_planes_are_right_however_they_are_asked_for(way, tmp_path):
    target, options = OTHER_WAYS[way]
    graph = SHOWN["planes_of_a_vector"]()
    model = compiled(graph, target, options, "k")
    is_made_whole = bool(options.accelerators)
    assert model.layers[-1].kernel == ("copy" if is_made_whole else "spread")
    inputs = OpCase("k", graph).inputs(seed=6)
    made, wanted = build(model.sources, tmp_path).run(inputs), run_graph(graph, inputs)
    assert np.array_equal(made["y"], wanted["y"])
