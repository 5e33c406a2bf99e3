"""Tiles of the FPU's instructions, by gcc and by clang, give their nests' bits on a Cortex-M4 in QEMU."""

from __future__ import annotations

from collections.abc import Iterator
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
from codegen.isa.fpu.dots import FloatDots, float_dots
from codegen.kernels.f32_tiles import DotTile, TileResults
from codegen.kernels.kernel import PassedOver
from codegen.loops.ir import Buffer, Invoke, Proc, Role, at
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions

BOARD = "mps2-an386"
M4 = load_core("cortex-m4").target({Feature.FPU})
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


def dots_check(number: int, tile: DotTile) -> Check:
    instruction, results = float_dots(tile), tile.results
    x = Buffer("x", DType.F32, 1 + (tile.pixels - 1) * tile.x_step + tile.length, Role.ROWS, tile.rows)
    w = Buffer("w", DType.F32, results.channels * tile.rows * tile.length, Role.CONSTANT)
    start = Buffer("start", DType.F32, results.channels, Role.CONSTANT)
    reach = (results.pixels - 1) * results.y_step + (results.channels - 1) * results.y_channel_step + 1
    y = Buffer("y", DType.F32, reach + 1, Role.OUTPUT)
    tables = (start,) if results.has_start else ()
    call = Invoke(instruction, (at(y, 1), at(x, 1), at(w), *map(at, tables)))
    proc = Proc("calling", (x, w, *tables, y), (call,))
    return proc_check(f"{instruction.name}_{number}", proc, {"y": np.zeros(y.elements, np.float32)})


def test_tiles_need_no_more_than_the_registers():
    assert all(FloatDots(tile).fits for tile in tiles())
    results = TileResults(4, 6, 6, 1, True, Activation.NONE)
    assert not FloatDots(DotTile(results, 1, 8, 5)).fits  # 36 registers
    assert not FloatDots(
        DotTile(TileResults(5, 1, 1, 1, True, Activation.NONE), 1, 8, 999)
    ).fits  # 5 pointers


@pytest.mark.parametrize("case", [*EVERY_LAYER, *RECURRENT], ids=lambda case: case.name)
def test_layers_on_floats_are_near_their_references(case):
    lowered = lower_graph(run_meaning(case.graph).graph, M4, CompileOptions())
    assert lowered.stages[-1].kernel.strategy.startswith("fpu")
    for inputs in samples_of(case):
        wanted = run_graph(case.graph, inputs)["y"]
        apart = np.abs(run_lowered(lowered, inputs)["y"] - wanted)  # type: ignore[operator]
        assert apart.max() <= 1e-5 * np.abs(wanted).max()


def test_a_core_that_fuses_as_fast_keeps_fused_sums():
    target = load_core("cortex-m7").target({Feature.FPU})
    stage = lower_graph(LAYERS[0].graph, target, CompileOptions()).stages[-1]
    assert (
        PassedOver("fpu-dots", "only for a core that adds faster than it fuses") in stage.kernel.passed_over
    )
    assert "real_fused" in compiled(LAYERS[0].graph, target, CompileOptions(), "fused").sources["fused.c"]
    apart = compiled(LAYERS[0].graph, M4, CompileOptions(), "apart").sources["apart.c"]
    assert "fma" not in apart


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_tiles_give_their_nests_bits(compiler, tmp_path):
    name, every = compiler
    checks = [dots_check(n, tile) for n, tile in islice(enumerate(tiles()), 0, None, every)]
    assert failures_on_board(checks, tmp_path / "checks", BOARD, name) == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_layers_on_floats_give_their_loops_bits(tmp_path):
    assert failures_on_board(layer_checks(EVERY_LAYER, M4), tmp_path / "checks", BOARD) == {}
