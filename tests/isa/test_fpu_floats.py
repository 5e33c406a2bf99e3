"""Tiles of the FPU's instructions, by gcc and by clang, give their nests' bits on boards in QEMU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest
from c_checks import Check, failures_on_board
from float_layers import LAYERS, RECURRENT, flattened, layer_checks
from model_checks import compiled, samples_of
from proc_checks import proc_check
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.passes.pipeline import run_meaning
from aot.target import Feature
from boards.cores import load_core
from codegen.isa.fpu.dots import FloatDots, FusedDots, float_dots
from codegen.kernels.f32_tiles import DotTile, TileResults
from codegen.kernels.kernel import PassedOver
from codegen.loops.ir import Buffer, Invoke, Proc, Role, at
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions

M4, M7 = (load_core(core).target({Feature.FPU}) for core in ("cortex-m4", "cortex-m7"))
TARGETS = pytest.mark.parametrize("target", [M4, M7], ids=lambda target: target.core)
BOARDS = {M4.core: "mps2-an386", M7.core: "mps2-an500"}
DOTS = {M4.core: FloatDots, M7.core: FusedDots}
TILES = ((1, 1), (1, 3), (1, 8), (1, 14), (2, 5), (3, 5), (4, 4), (5, 3), (6, 1))
WINDOWS = ((1, 1), (1, 2), (1, 3), (1, 22), (3, 5), (2, 13), (10, 1))  # rows, length
STEPS = ((3, (24, 1)), (130, (1, 9)))  # elements from pixel to pixel; of the result along pixels and channels
ACTIVATIONS = (Activation.NONE, Activation.RELU, Activation.RELU_N1_TO_1, Activation.FINITE)
EVERY_LAYER = (*LAYERS, flattened())


def tiles() -> Iterator[DotTile]:
    for n, ((pixels, channels), (rows, length)) in enumerate(product(TILES, WINDOWS)):
        x_step, steps = STEPS[n % 2]
        activation = ACTIVATIONS[n % len(ACTIVATIONS)]
        yield DotTile(TileResults(pixels, channels, *steps, n % 3 > 0, activation), rows, length, x_step)


def dots_check(number: int, dots: FloatDots) -> Check:
    instruction, tile, results = float_dots(dots), dots.tile, dots.tile.results
    x = Buffer("x", DType.F32, 1 + (tile.pixels - 1) * tile.x_step + tile.length, Role.ROWS, tile.rows)
    w = Buffer("w", DType.F32, results.channels * tile.rows * tile.length, Role.CONSTANT)
    start = Buffer("start", DType.F32, results.channels, Role.CONSTANT)
    reach = (results.pixels - 1) * results.y_step + (results.channels - 1) * results.y_channel_step + 1
    y = Buffer("y", DType.F32, reach + 1, Role.OUTPUT)
    tables = (start,) if results.has_start else ()
    call = Invoke(instruction, (at(y, 1), at(x, 1), at(w), *map(at, tables)))
    proc = Proc("calling", (x, w, *tables, y), (call,))
    return proc_check(f"{instruction.name}_{number}", proc, {"y": np.zeros(y.elements, np.float32)})


@TARGETS
def test_tiles_need_no_more_than_the_registers(target):
    dots = DOTS[target.core]
    assert all(dots(tile).fits for tile in tiles())
    results = TileResults(4, 6, 6, 1, True, Activation.NONE)
    assert not dots(DotTile(results, 1, 8, 5)).fits  # 34 registers and more
    far = DotTile(TileResults(6, 1, 1, 1, True, Activation.NONE), 1, 8, 999)
    assert not dots(far).fits  # 6 pointers


def test_steps_of_fused_sums_load_together():
    results = TileResults(4, 4, 4, 1, True, Activation.NONE)
    lines = FusedDots(DotTile(results, 1, 9, 9)).lines()
    assert "movw %[turns], #4" in lines
    assert [line for line in lines if "FUSED" in line] == ["FUSED_4X4_OF_2", "FUSED_4X4"]
    assert sum(line.startswith("vldmia %[p") for line in lines) == 6


@TARGETS
@pytest.mark.parametrize("case", [*EVERY_LAYER, *RECURRENT], ids=lambda case: case.name)
def test_layers_on_floats_are_near_their_references(case, target):
    lowered = lower_graph(run_meaning(case.graph).graph, target, CompileOptions())
    assert lowered.stages[-1].kernel.strategy.startswith("fpu")
    for inputs in samples_of(case):
        wanted = run_graph(case.graph, inputs)["y"]
        apart = np.abs(run_lowered(lowered, inputs)["y"] - wanted)  # type: ignore[operator]
        assert apart.max() <= 1e-5 * np.abs(wanted).max()


def test_sums_are_fused_unless_the_core_adds_faster():
    apart, fused = (compiled(LAYERS[0].graph, t, CompileOptions(), "m").sources["m.c"] for t in (M4, M7))
    assert "fma" not in apart
    assert "vfma.f32" in fused
    assert "vmul.f32" not in fused


@TARGETS
def test_lstms_have_curves_without_the_library_unless_they_look_at_cells(target):
    cases = {case.name: case.graph for case in RECURRENT}
    for name, has_curves in (("recurrent_lstm", True), ("recurrent_lstm_of_two_sequences", False)):
        text = compiled(cases[name], target, CompileOptions(), "m").sources["m.c"]
        assert ["_gated_tanh(" in text, "tanhf(" in text] == [has_curves, not has_curves]


def test_a_core_that_fuses_as_fast_and_one_by_one_has_no_tiles():
    target = replace(M7, pairs_instructions=False)
    stage = lower_graph(LAYERS[0].graph, target, CompileOptions()).stages[-1]
    text = "only for a core that adds faster than it fuses, or begins two instructions at a time"
    assert PassedOver("fpu-dots", text) in stage.kernel.passed_over
    assert "real_fused" in compiled(LAYERS[0].graph, target, CompileOptions(), "fused").sources["fused.c"]


@TARGETS
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_tiles_give_their_nests_bits(compiler, target, tmp_path):
    name, every = compiler
    dots = DOTS[target.core]
    checks = [dots_check(n, dots(tile)) for n, tile in islice(enumerate(tiles()), 0, None, every)]
    assert failures_on_board(checks, tmp_path / "checks", BOARDS[target.core], name) == {}


@TARGETS
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_layers_on_floats_give_their_loops_bits(target, tmp_path):
    checks = layer_checks(EVERY_LAYER, target)
    assert failures_on_board(checks, tmp_path / "checks", BOARDS[target.core]) == {}
