"""Instructions of Helium on floats, by gcc and by clang, give their nests' bits on a Cortex-M55 in QEMU."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest
from c_checks import Check, failures_on_board
from float_layers import DEPTHWISE, LAYERS, RECURRENT, flattened, layer, layer_checks
from model_checks import MVE, samples_of
from op_case import float32, op_case
from proc_checks import proc_check
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul, Sub
from aot.ops.dense import Dense
from aot.ops.unary import Logistic, Tanh
from aot.passes.pipeline import run_meaning
from aot.target import Feature
from codegen.isa.helium.dot_blocks import BlockSums
from codegen.isa.helium.elements import OPERATIONS, float_row
from codegen.isa.helium.f32 import FOURS, FloatResults
from codegen.isa.helium.f32_curves import CURVES, SIGMOID, TANH, curve_row, float_units
from codegen.isa.helium.f32_sums import MOST_PIXELS, FloatDepthwise, FloatTile, float_dots, float_taps
from codegen.isa.helium.hybrid import ScaledBlocks, largest_of, scaled_blocks, steps_of
from codegen.kernels.kernel import PassedOver
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Buffer,
    Declare,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions

BOARD = "mps3-an547"
TILES = ((1, 24), (1, 3), (1, 13), (2, 1), (2, 12), (2, 7), (3, 8), (3, 5), (3, 4), (4, 4), (5, 2), (6, 1))
WINDOWS = ((1, 1), (1, 2), (1, 8), (1, 9), (1, 22), (3, 5), (2, 13), (10, 1))  # rows, length
STEPS = ((3, (24, 1)), (17, (1, 9)))  # elements from pixel to pixel; of the result along pixels and channels
ACTIVATIONS = (Activation.NONE, Activation.RELU, Activation.RELU_N1_TO_1, Activation.FINITE)


def dots() -> Iterator[Check]:
    for n, ((pixels, channels), (rows, length)) in enumerate(product(TILES, WINDOWS)):
        x_step, steps = STEPS[n % 2]
        activation = ACTIVATIONS[n % len(ACTIVATIONS)]
        tile = FloatTile(FloatResults(pixels, channels, *steps, n % 3 > 0, activation), rows, length, x_step)
        yield dots_check(f"{tile.name}_{n}", tile, {})


def dots_check(name: str, tile: FloatTile, constants: dict[str, Array]) -> Check:
    length = (tile.pixels - 1) * tile.x_step + tile.length
    size = tile.results.channels * tile.rows * tile.length + tile.results.reads_ahead
    return tile_check(name, float_dots(tile), tile.results, (tile.rows, length, size), constants)


TAPS = ((1, 1), (3, 3), (1, 9), (4, 1), (2, 11))  # rows, columns
TAP_STEPS = ((20, 20), (24, 48), (130, 130), (7, 3))  # elements from tap to tap, and from pixel to pixel


def taps() -> Iterator[Check]:
    every = product(range(1, MOST_PIXELS + 1), (1, 3, 4), TAPS)
    for n, (pixels, channels, (rows, columns)) in enumerate(every):
        tap_step, x_step = TAP_STEPS[n % len(TAP_STEPS)]
        activation = ACTIVATIONS[n % len(ACTIVATIONS)]
        results = FloatResults(pixels, channels, *STEPS[n % 2][1], n % 3 > 0, activation)
        tile = FloatDepthwise(results, rows, columns, tap_step, x_step)
        length = (pixels - 1) * x_step + (columns - 1) * tap_step + FOURS
        sizes = rows, length, rows * columns * channels + results.reads_ahead
        yield tile_check(f"{tile.name}_{n}", float_taps(tile), results, sizes, {})


def row_results() -> Iterator[Check]:
    for n, (op, count) in enumerate(product(OPERATIONS, (1, 3, 4, 7, 40))):
        a, b = (Buffer(name, DType.F32, count, Role.INPUT) for name in "ab")
        y = Buffer("y", DType.F32, count, Role.OUTPUT)
        instruction = float_row(op, count, ACTIVATIONS[n % len(ACTIVATIONS)])
        yield proc_check(
            instruction.name, Proc("calling", (a, b, y), (Invoke(instruction, (at(y), at(a), at(b))),))
        )


def units() -> Iterator[Check]:
    """Sums of gates where curves are steep and where they are flat, with zeros and infinities."""
    for count, gives_cell, clip in product((1, 4, 5, 20), (False, True), (0.0, 3.0)):
        instruction = float_units(count, gives_cell, clip)
        given, before = buffers(Role.INPUT, given=4 * count, before=count)
        sums, cells = buffers(Role.LOCAL, sums=4 * count, cells=count)
        y = Buffer("y", DType.F32, 2 * count, Role.OUTPUT)
        copies = [(sums, given), (cells, before)]
        i = variable("i")
        copied = [For("i", to.elements, (Store(at(to, i), load(source, i)),)) for to, source in copies]
        body: tuple[Stmt, ...] = (Declare(sums), Declare(cells), *copied)
        body += (Invoke(instruction, (at(y), at(sums), at(cells))),)
        values = RNG.standard_normal(4 * count).astype(np.float32) * RNG.choice([1, 8, 20], 4 * count)
        values[: len(FAR)] = FAR[: values.size]
        cells_before = RNG.standard_normal(count).astype(np.float32) * 3
        # Products with the least gates that are no subnormal numbers, which vectors take for 0.
        values[2 * count : 3 * count][:2], values[3 * count :][:2], cells_before[:2] = LEAST[:count], 0, 1e20
        constants = {
            "given": values.astype(np.float32),
            "before": cells_before,
            "y": np.zeros(y.elements, np.float32),
        }
        check = proc_check(instruction.name, Proc("calling", (given, before, y), body), constants)
        yield replace(check, text=f"{NOT_FINITE}{check.text}")


def curves() -> Iterator[Check]:
    for op, count in product(CURVES, (1, 3, 4, 21)):
        x, y = Buffer("x", DType.F32, count + 1, Role.ROWS), Buffer("y", DType.F32, count + 1, Role.OUTPUT)
        values = (RNG.standard_normal(count + 1) * RNG.choice([1, 8, 20], count + 1)).astype(np.float32)
        values[1:][: len(FAR)] = FAR[:count]
        proc = Proc("calling", (x, y), (Invoke(curve_row(op, count), (at(y, 1), at(x, 1))),))
        check = proc_check(f"{op}_{count}", proc, {"x": values, "y": np.zeros(count + 1, np.float32)})
        yield replace(check, text=f"{NOT_FINITE}{check.text}")


def in_steps() -> Iterator[Check]:
    """The largest number of a row and others in steps: ends, halves both ways, and what saturates."""
    for count in (1, 3, 4, 8, 21):
        x, y = Buffer("x", DType.F32, count + 1, Role.ROWS), Buffer("y", DType.F32, 1, Role.OUTPUT)
        values = (RNG.standard_normal(count + 1) * 50).astype(np.float32)
        values[1:][: len(BETWEEN)] = BETWEEN[:count]
        reach, factor = local("reach", DType.F32), local("inverse", DType.F32)
        found = Invoke(largest_of(count), (at(reach), at(x, 1)))
        body: tuple[Stmt, ...] = (Declare(reach), found, Store(at(y), load(reach)))
        constants = {"x": values, "y": np.zeros(1, np.float32)}
        yield proc_check(f"reach_{count}", Proc("calling", (x, y), body), constants)
        steps = Buffer("in_steps", DType.I8, count + 1, Role.OUTPUT)
        constants = {"x": values, "in_steps": np.zeros(count + 1, np.int8)}
        for inverse in (1.0, 127.0, 1e30):
            body = (*let(factor, inverse), Invoke(steps_of(count), (at(steps, 1), at(x, 1), at(factor))))
            yield proc_check(f"steps_{count}_{int(inverse)}", Proc("calling", (x, steps), body), constants)


def scaled_sums() -> Iterator[Check]:
    for steps, count, has_bias in product((1, 3, 4, 5, 9, 40), (1, 2, 5), (False, True)):
        tile, channels = ScaledBlocks(BlockSums(count, steps), has_bias), 4 * count
        x = Buffer("x", DType.I8, 16 * steps + 1, Role.ROWS)
        w = Buffer("w", DType.I8, channels * 16 * steps, Role.CONSTANT)
        tables = buffers(Role.CONSTANT, scales=channels, **{"bias": channels} if has_bias else {})
        y, step = Buffer("y", DType.F32, channels + 1, Role.OUTPUT), local("step", DType.F32)
        places = (at(y, 1), at(x, 1), at(w), *map(at, tables), at(step))
        body = (*let(step, 0.013), Invoke(scaled_blocks(tile), places))
        constants = {"y": np.zeros(channels + 1, np.float32)}
        yield proc_check(tile.name, Proc("calling", (x, w, *tables, y), body), constants)


def buffers(role: Role, **sizes: int) -> list[Buffer]:
    return [Buffer(name, DType.F32, size, role) for name, size in sizes.items()]


RNG = np.random.default_rng(5)
FAR = np.array([0.0, -0.0, np.inf, 0.625, -0.62499994, 1e-30, 88.8], np.float32)
BETWEEN = np.array([-126.5, 0.5, -0.5, 1.5, -127.0, 127.4, 126.49999, -0.0], np.float32)
LEAST = np.array([-np.inf, -88.8], np.float32)


@pytest.mark.parametrize(("curve", "exact"), [(SIGMOID, lambda v: 1 / (1 + math.exp(-v))), (TANH, math.tanh)])
def test_curves_are_within_their_stated_error(curve, exact):
    """The largest errors over all floats: of sigmoid at -17.16, of tanh at 0.6265; and many others."""
    worst = [-17.1602364, 0.626463592]
    for v in np.array([*worst, *RNG.uniform(-20, 20, 3000), *RNG.uniform(-1, 1, 1000)], np.float32):
        wanted = exact(float(v))
        assert abs(curve.meaning(float(v)) - wanted) <= 2.4e-7 * abs(wanted)


@pytest.mark.parametrize("curve", [SIGMOID, TANH])
def test_curves_of_what_is_no_number_are_none(curve):
    assert math.isnan(curve.meaning(math.nan))


def tile_check(
    name: str,
    instruction: Instruction,
    results: FloatResults,
    sizes: tuple[int, int, int],
    constants: dict[str, Array],
) -> Check:
    """`sizes`: the rows of the window, the elements of each, and those of the weights."""
    rows, length, weights = sizes
    x = Buffer("x", DType.F32, 1 + length, Role.ROWS, rows)
    w, start = Buffer("w", DType.F32, weights, Role.CONSTANT), Buffer("start", DType.F32, 24, Role.CONSTANT)
    reach = (results.pixels - 1) * results.y_step + (results.channels - 1) * results.y_channel_step + 1
    y = Buffer("y", DType.F32, reach + 1, Role.OUTPUT)
    tables = (start,) if results.has_start else ()
    call = Invoke(instruction, (at(y, 1), at(x, 1), at(w), *map(at, tables)))
    proc = Proc("calling", (x, w, *tables, y), (call,))
    return proc_check(name, proc, {**constants, "y": np.zeros(y.elements, np.float32)})


NOT_FINITE = """\
#undef NAN
#undef INFINITY
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
"""
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 7.0, -7.0, 1e38], np.float32)


def special_values() -> Iterator[Check]:
    """One product for each result, so that a NaN is one of the elements and not made by the processor."""
    for n, activation in enumerate(ACTIVATIONS):
        tile = FloatTile(FloatResults(4, 4, 4, 1, True, activation), 1, 1, 2)
        for half, w in product((0, 1), (1.0, 2.0)):
            x = np.repeat(SPECIAL[half * 4 : half * 4 + 4], 2)
            given = {"x": x[[0, *range(7)]], "w": np.full(4, w, np.float32)}
            start = np.full(24, -0.0, np.float32)
            check = dots_check(f"special_{n}_{half}_{int(w)}", tile, {**given, "start": start})
            yield replace(check, text=f"{NOT_FINITE}{check.text}")


RELU6 = Activation.RELU6
ROWS = [
    op_case(f"{op.name}_of_{shape[-1]}", op, [float32(*shape)] * 2, float32())
    for op, shape in ((Add(RELU6), (1, 3, 5, 7)), (Sub(), (1, 2, 4, 4)), (Mul(Activation.RELU), (2, 9)))
]
CURVED = [
    op_case(f"{op.name}_of_{shape[-1]}", op, [float32(*shape)], float32())
    for op, shape in ((Logistic(), (1, 3, 5, 7)), (Tanh(), (2, 9)))
]
EVERY_LAYER = (*LAYERS, *DEPTHWISE, flattened(), *ROWS, *CURVED)


@pytest.mark.parametrize("case", [*EVERY_LAYER, *RECURRENT], ids=lambda case: case.name)
def test_layers_on_floats_are_near_their_references(case):
    lowered = lower_graph(run_meaning(case.graph).graph, MVE, CompileOptions())
    assert lowered.stages[-1].kernel.strategy.startswith("helium")
    for inputs in samples_of(case):
        wanted = run_graph(case.graph, inputs)["y"]
        apart = np.abs(run_lowered(lowered, inputs)["y"] - wanted)  # type: ignore[operator]
        assert apart.max() <= 1e-5 * np.abs(wanted).max()


def test_weights_in_16_bits_are_left_to_scalar_loads():
    case = layer("halves", Dense(), (1, 8), (8, 8))
    halves = {name: a.astype(np.float16).astype(np.float32) for name, a in case.graph.constants.items()}
    graph = replace(case.graph, constants=halves)
    (stage,) = lower_graph(graph, MVE, CompileOptions(half_weights=True)).stages
    assert stage.kernel.strategy == "reals"
    assert PassedOver("helium-f32", "only for weights stored in 32 bits") in stage.kernel.passed_over


def test_vectors_of_integers_alone_compute_no_floats():
    """A core may have Helium without floats."""
    target = replace(MVE, features=MVE.features - {Feature.FPU})
    stage = lower_graph(LAYERS[0].graph, target, CompileOptions()).stages[-1]
    assert PassedOver("helium-f32", "the core has no fpu") in stage.kernel.passed_over


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(
    "instructions", [dots, taps, row_results, units, curves, in_steps, scaled_sums, special_values]
)
def test_instructions_on_floats_give_their_nests_bits(instructions, compiler, tmp_path):
    name, every = compiler
    checks = list(islice(instructions(), 0, None, every))
    assert failures_on_board(checks, tmp_path / "checks", BOARD, name) == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_layers_on_floats_give_their_loops_bits(tmp_path):
    assert failures_on_board(layer_checks(EVERY_LAYER, MVE), tmp_path / "checks", BOARD) == {}
