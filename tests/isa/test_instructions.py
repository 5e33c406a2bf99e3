"""Every DSP instruction's C, by gcc and by clang, does what its loop nest says on an emulated Cortex-M4."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest
from c_checks import failures_on_board
from proc_checks import proc_check

from aot.ir.types import Array, DType
from aot.ops.rounding import RequantRounding
from codegen.isa.dsp.channels import ChannelsTile, window
from codegen.isa.dsp.depthwise import STRIDES, DepthwiseRow, depthwise_row
from codegen.isa.dsp.dot_tile import SmladDotTile
from codegen.isa.dsp.dots import dot
from codegen.isa.dsp.isa import with_dsp
from codegen.isa.dsp.paired_tile import paired_row
from codegen.isa.dsp.strategies.depthwise_blocks import BlockRow, block_row
from codegen.isa.dsp.window import RECORD_BYTES, records
from codegen.isa.plain.fitted_scale import store_fitted
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.isa.plain.scalar_math import PORTABLE
from codegen.kernels.dot_product import Addend
from codegen.kernels.paired_rows import ResultRow
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Buffer,
    Declare,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
)
from codegen.loops.schedule import unroll

Trial = tuple[str, Proc, Mapping[str, Array]]  # name, what is run, the operands that are not random
ELEMENTS = 416  # of every operand: more than any of these reads
SUMS = (Role.LOCAL, Role.SCRATCH)  # what the caller holds, in registers or in an array
I = variable("i")  # noqa: E741 - the loop variable of this name


def calling(instruction: Instruction, **first: int) -> Proc:
    """Sums as given, the instruction on operands from their element `first` on, sums to y."""
    params: list[Buffer] = []
    before: list[Stmt] = []
    after: list[Stmt] = []
    windows = []
    for param in instruction.params:
        if param.role not in SUMS or not param.elements:
            role = Role.INPUT if param.role is Role.SCRATCH else param.role  # factors, made before
            params.append(Buffer(param.name, param.dtype, ELEMENTS, role, param.rows))
            windows.append(at(params[-1], first.get(param.name, 0)))
            continue
        given = Buffer(f"given_{param.name}", DType.I32, param.elements, Role.INPUT)
        made = Buffer("y", DType.I32, param.elements, Role.OUTPUT)
        before += [Declare(param), For("i", param.elements, (Store(at(param, I), load(given, I)),))]
        params.append(given)
        if param.name == "sums":
            after.append(For("i", param.elements, (Store(at(made, I), load(param, I)),)))
            params.append(made)
        windows.append(at(param))
    call = Invoke(instruction, tuple(windows))
    proc = Proc("calling", tuple(params), (*before, call, *after))
    return unroll(proc, "i") if before else proc


TILES = ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 1), (2, 2), (3, 1), (3, 2))
STEPS = ((1, 16), (2, 1), (5, 4), (6, 16), (16, 4), (16, 16), (17, 16))  # groups, and of them in a turn


def dots() -> Iterator[Trial]:
    """Every register tile that fits, lengths that become different loops, aligned or not."""
    for (pixels, channels), (steps, most), x_dtype in product(TILES, STEPS, (DType.I8, DType.I16)):
        for aligned, pixel_step in ((True, 8), (False, 3)):
            tile = SmladDotTile(pixels, channels, steps, pixel_step, x_dtype, aligned, most)
            yield f"{tile.name}_{steps}", calling(dot(tile), x=0 if aligned else 1), {}
            if pixels < 3 and most == 16:
                general = replace(tile, is_general=True)
                yield f"{general.name}_{steps}_{pixel_step}", calling(dot(general), x=0 if aligned else 1), {}


def dots_of_wide_weights() -> Iterator[Trial]:
    """The same with weights that were widened when they were stored."""
    for (pixels, channels), (steps, most), x_dtype in product(TILES, STEPS, (DType.I8, DType.I16)):
        tile = SmladDotTile(pixels, channels, steps, 8, x_dtype, True, most, DType.I16)
        yield f"{tile.name}_{steps}", calling(dot(tile)), {}


def dots_in_pairs() -> Iterator[Trial]:
    """The same in the order for cores that begin two instructions in a cycle."""
    every = product(TILES, STEPS, (DType.I8, DType.I16), (DType.I8, DType.I16), (True, False))
    for (pixels, channels), (steps, most), x_dtype, w_dtype, aligned in every:
        tile = SmladDotTile(pixels, channels, steps, 8, x_dtype, aligned, most, w_dtype, in_pairs=True)
        yield f"{tile.name}_{steps}", calling(dot(tile), x=0 if aligned else 1), {}


# Kernel rows and columns: loops over both, over either, over none; taps and pixels, near and far.
WINDOWS = ((1, 1), (9, 1), (12, 1), (1, 11), (2, 3), (3, 4))
WINDOW_STEPS = ((20, 6), (7, 21))


def windows() -> Iterator[Trial]:
    kinds = product((DType.I8, DType.I16), ((DType.I8, True), (DType.I16, True), (DType.I16, False)))
    every = product(WINDOWS, (1, 2), (1, 2, 3, 4), kinds)
    for n, ((rows, columns), pixels, channels, (w_dtype, (x_dtype, aligned))) in enumerate(every):
        steps, small = WINDOW_STEPS[not aligned], n % 7 % 2 == 0
        tile = ChannelsTile(pixels, channels, rows, columns, *steps, x_dtype, aligned, small, w_dtype)
        if tile.is_possible:
            yield f"{tile.name}_{n}", calling(window(tile), x=4 if aligned else 3), {}


# How sums become stored values, and the shift: with their sign, without it, clamped, of any shift.
STORED = {
    "signed": (Requant(3, -128, 127, RequantRounding.DOUBLE, (1, 22), sum_fits_30_bits=True), 8),
    "relu": (Requant(-128, -128, 127, RequantRounding.DOUBLE, (1, 22), sum_fits_30_bits=True), 7),
    "clamped": (Requant(-9, -20, 90, RequantRounding.DOUBLE, (1, 22), sum_fits_30_bits=True), 1),
    "any shift": (Requant(5, -128, 127, RequantRounding.DOUBLE, (-3, 22), sum_fits_30_bits=True), 8),
}


def depthwise_rows() -> Iterator[Trial]:
    """Rows of all lengths on every alignment, written as bytes side by side or as halfwords apart."""
    widths = product((1, 2, 3, 4, 5, 6, 9, 16, 17), STRIDES, STORED)
    for number, (outputs, stride, kind) in enumerate(widths):
        requant, right = STORED[kind]
        to_stored = store_quantised(replace(requant, math=with_dsp(PORTABLE)))
        values = {"start": -1000 * number, "scale": 2**30 + 12345678 * number, "shift": right}
        if to_stored.prepare is not None:
            values["rounding"] = to_stored.prepare.meaning(right)
        given = {f"given_{name}": np.array([value], np.int32) for name, value in values.items()}
        row = DepthwiseRow(outputs, stride, *((DType.I8, 1), (DType.I16, 7))[number % 2])
        general, by_two = replace(row, is_general=True), replace(row, turns=2)
        rows = (row, general, by_two) if outputs in (9, 16, 17) and outputs // 2 % 2 == 0 else (row, general)
        for first, row in enumerate(rows):
            instruction = depthwise_row(row, to_stored)
            name = f"{instruction.name}_{outputs}_{number}"
            given["y"] = np.zeros(ELEMENTS, row.y_dtype.numpy)
            yield name, calling(instruction, x=number % 4, w=9 * first), given


def depthwise_blocks() -> Iterator[Trial]:
    """Rows of one and of several blocks, with and without a smaller last one, stored in three ways."""
    rng = np.random.default_rng(1)
    sizes = [(n, n) for n in range(2, 7)] + [(3, 1), (7, 4), (12, 6), (9, 3), (13, 5), (11, 6), (5, 2)]
    requants = {kind: replace(requant, math=with_dsp(PORTABLE)) for kind, (requant, _) in STORED.items()}
    stores = (
        (store_fitted(requants["relu"], 4), -300),
        (store_quantised(requants["signed"]), 8),
        (store_quantised(requants["any shift"]), -1),
    )
    for number, ((outputs, each), stride) in enumerate(product(sizes, STRIDES)):
        storing, second = stores[number % len(stores)]
        row = BlockRow(outputs, each, stride, *((DType.I8, 1), (DType.I16, 7))[number % 2])
        instruction = block_row(row, storing)
        constants = (
            rng.integers(-(1 << 18), 1 << 18, 1),
            rng.integers(1 << 26, 1 << 27, 1),
            np.array([second]),
        )
        dtypes = (np.int32, np.int32, np.int16)
        numbers = (values.astype(dtype) for values, dtype in zip(constants, dtypes, strict=True))
        w = np.zeros(ELEMENTS, np.int8)
        w[:RECORD_BYTES] = records(rng.integers(-128, 128, (1, 9)), *numbers)
        given = {"w": w, "y": np.zeros(ELEMENTS, row.y_dtype.numpy)}
        yield f"{instruction.name}_{outputs}_{number}", calling(instruction, x=number % 4), given


LOWER = ScalarFunction(
    "lower_of",
    DType.I32,
    """\
static inline int32_t lower_of(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
""",
    min,
)


def paired_rows() -> Iterator[Trial]:
    """Tiles of all sizes, straight and in a loop, one and three, stored in all ways; some with an addend."""
    rng = np.random.default_rng(2)
    requants = {kind: replace(requant, math=with_dsp(PORTABLE)) for kind, (requant, _) in STORED.items()}
    prepared = replace(store_quantised(requants["signed"]), is_prepared=True)
    stores = (
        (store_fitted(requants["relu"], 10), -300, 0),
        (store_quantised(requants["signed"]), 8, 0),
        (prepared, 8, 7 << 8),
        (store_quantised(requants["any shift"]), 3, 0),
    )
    addend = Addend(Buffer("b", DType.I8, ELEMENTS, Role.ROWS), 0, 3, 1, LOWER)
    every = product((1, 2, 3, 4), (1, 2), ((1, 16), (5, 16), (6, 2)), (1, 3))
    for number, (pixels, channels, (groups, most), tiles) in enumerate(every):
        storing, second, term = stores[number % len(stores)]
        steps = (DType.I8, channels, 1) if number % 3 else (DType.I16, 1, pixels * tiles + 1)
        row = ResultRow(tiles, pixels, channels, groups, storing, *steps, addend if number % 5 == 0 else None)
        parts = (
            rng.integers(-(1 << 20), 1 << 20, channels).astype("<i4"),
            rng.integers(-(1 << 10), 1 << 10, groups * channels * 2).astype("<i2"),
            rng.integers(1 << 20, 1 << 21, channels).astype("<i4"),
            np.full(channels, second, "<i4"),
            np.full(channels, term, "<i4"),
        )
        instruction = paired_row(row, most)
        w = np.concatenate([part.view("<i2") for part in parts])
        given = {
            "w": np.pad(w, (0, ELEMENTS - len(w))),
            "v": rng.integers(-(1 << 10), 1 << 10, ELEMENTS).astype(np.int16),
            "y": np.zeros(ELEMENTS, steps[0].numpy),
        }
        yield f"{instruction.name}_{number}", calling(instruction), given


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(
    "instructions",
    [dots, dots_of_wide_weights, dots_in_pairs, windows, depthwise_rows, depthwise_blocks, paired_rows],
)
def test_instructions_do_what_their_nests_say(instructions, compiler, tmp_path):
    name, every = compiler
    trials = islice(instructions(), 0, None, every)
    checks = [proc_check(trial, proc, given) for trial, proc, given in trials]
    assert failures_on_board(checks, tmp_path / "checks", compiler=name) == {}
