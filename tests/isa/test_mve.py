"""Every Helium instruction's C, by gcc and by clang, does what its loop nest says on a Cortex-M55 in QEMU."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from c_checks import Check, failures_on_board
from graphs import Draft
from model_checks import MVE, OPTIONS, compiled
from op_case import OpCase, by_powers
from proc_checks import around_results, proc_check

from aot.ir.types import Array, DType
from aot.ops.binary_rescale import AddParameters
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.helium.depthwise import CHUNK, PIXEL, InterleavedRows, depthwise_rows, interleave
from codegen.isa.helium.depthwise_fours import depthwise_fours
from codegen.isa.helium.dot_blocks import DotBlocks, dot_blocks
from codegen.isa.helium.dot_row import DotRow, dot_row
from codegen.isa.helium.dot_row_fours import DotRowFours, dot_row_fours
from codegen.isa.helium.dots import READ_AHEAD, HeliumDotTile, dot
from codegen.isa.helium.elements import sum_row
from codegen.isa.helium.four_bits import WeightForm
from codegen.isa.helium.requantise import RequantTile, load_channels, requantise_tile
from codegen.isa.helium.strategies.average_pool2d import add_pixels
from codegen.isa.helium.strategies.depthwise_channels import DepthwiseChannels, depthwise_channels
from codegen.isa.helium.strategies.dot_product import copy_windows
from codegen.isa.plain.arithmetic import StoredResult, sum_int8
from codegen.isa.plain.requantise import Requant
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    Declare,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)
from codegen.loops.schedule import unroll

BOARD = "mps3-an547"
FOUR_BITS = (WeightForm.JOINED, WeightForm.NIBBLES)
SOURCE = 300  # bytes of a row: more than any of these reads
I = variable("i")  # noqa: E741 - the loop variable of this name
RNG = np.random.default_rng(11)


def copied(to: Buffer, source: Buffer, count: int) -> For:
    return For("i", count, (Store(at(to, I), load(source, I)),))


def giving_sums(tile: HeliumDotTile, first: int) -> Proc:
    """The sums that the instruction makes in registers, of pixels from element `first` of their rows on."""
    instruction = dot(tile)
    sums, _, *weights = instruction.params
    reach = (tile.pixels - 1) * tile.x_step + (tile.taps - 1) * tile.tap_step + tile.length
    rows = Buffer("x", tile.x_dtype, first + reach + READ_AHEAD, Role.ROWS, tile.kernel_rows)
    size = tile.channels * tile.kernel_rows * tile.taps * tile.length + READ_AHEAD
    operands = [Buffer(w.name, DType.I8, size, Role.CONSTANT) for w in weights]
    y = Buffer("y", sums.dtype, sums.elements, Role.OUTPUT)
    places = (at(sums), at(rows, first), *(at(w) for w in operands))
    body = (Declare(sums), Invoke(instruction, places), copied(y, sums, sums.elements))
    return unroll(Proc("calling", (rows, *operands, y), body), "i")


# Kernel rows, taps, length: with and without a rest or a loop, of few pointers and of many.
WINDOWS = (
    (1, 1, 1),
    (1, 1, 9),
    (1, 1, 16),
    (3, 1, 48),
    (1, 1, 153),
    (3, 1, 200),
    (4, 1, 21),
    (2, 3, 5),
    (10, 1, 4),
)
PIXEL_STEPS = ((16, True), (7, False), (300, True), (600, True))  # bytes, aligned: near and far neighbours


def dots(channels: int, form: WeightForm = WeightForm.BYTES) -> Iterator[Check]:
    for pixels, (rows, taps, length), (x_step, aligned) in product((1, 2), WINDOWS, PIXEL_STEPS):
        tile = HeliumDotTile(pixels, channels, rows, taps, length, x_step, 24, aligned, form)
        yield proc_check(f"{tile.name}_{x_step}", giving_sums(tile, first=0 if aligned else 3))


def dots_of_halves(sum_dtype: DType) -> Iterator[Check]:
    for channels, (rows, taps, length) in product((1, 2, 3, 4), WINDOWS):
        tile = HeliumDotTile(1, channels, rows, taps, length, 16, 24, False)
        tile = replace(tile, x_dtype=DType.I16, sum_dtype=sum_dtype)
        yield proc_check(tile.name, giving_sums(tile, first=1))


KINDS = {
    "relu": Requant(-128, -128, 127, RequantRounding.DOUBLE, (1, 31), True),
    "signed": Requant(5, -128, 127, RequantRounding.DOUBLE, (1, 31), True),
    "clamped": Requant(-9, -9, 90, RequantRounding.DOUBLE, (1, 22), True),
    "short": Requant(-128, -128, 127, RequantRounding.DOUBLE, (3, 22), True, scaled_fits_16_bits=True),
    "any_shift": Requant(3, -100, 127, RequantRounding.DOUBLE, (-30, 31), False),
    "once": Requant(5, -128, 127, RequantRounding.SINGLE, (1, 31), True),
    "once_short": Requant(-9, -20, 90, RequantRounding.SINGLE, (3, 22), True, scaled_fits_16_bits=True),
    "once_any_shift": Requant(3, -100, 127, RequantRounding.SINGLE, (-30, 31), False),
    "to_even": Requant(5, -128, 127, RequantRounding.EVEN, (1, 31), True, are_powers=True),
    "to_even_from_half": Requant(5, -128, 127, RequantRounding.EVEN, (0, 31), True, are_powers=True),
    "to_odd": Requant(-9, -20, 90, RequantRounding.ODD, (1, 22), True, are_powers=True),
}


def tables(requant: Requant, channels: int, sums: int) -> dict[str, Array]:
    """Constants as layers have them; sums that give every kind of result, many half way between two."""
    mult = RNG.integers(1 << 30, 1 << 31, channels) if requant.parity is None else np.full(channels, 1 << 30)
    right = RNG.integers(requant.rights[0], requant.rights[1], channels, endpoint=True)
    scale = np.ldexp(mult, -31 - right)[np.arange(sums) % channels]
    wanted = RNG.integers(-520, 520, sums) / 2.0
    near = np.clip(np.rint(wanted / scale), -(2**29), 2**29).astype(np.int32)
    bias = RNG.integers(-1000, 1000, channels)
    given = near - bias[np.arange(sums) % channels]
    constants = {"bias": bias, "mult": mult, "given": given}
    return {**{n: a.astype(np.int32) for n, a in constants.items()}, "right": right.astype(np.int8)}


def in_vectors(channels: int) -> tuple[list[Buffer], list[Stmt], list[BufferPlace]]:
    """The channels' tables, the loads of them into vector registers, and those."""
    params = [Buffer(n, DType.I32, channels, Role.CONSTANT) for n in ("bias", "mult")]
    params.append(Buffer("right", DType.I8, channels, Role.CONSTANT))
    lanes = [Buffer(f"{p.name}_lanes", DType.I32, channels, Role.LOCAL) for p in params]
    loads: list[Stmt] = [Declare(lane) for lane in lanes]
    for table, lane in zip(params, lanes, strict=True):
        loads.append(Invoke(load_channels(channels, table.dtype), (at(lane), at(table))))
    return params, loads, [at(lane) for lane in lanes]


def requantised() -> Iterator[Check]:
    for (kind, requant), pixels, channels, steps in product(
        KINDS.items(), (1, 2), (1, 2, 3, 4), ((64, 1), (1, 50), (5, 1))
    ):
        tile = RequantTile(pixels, channels, *steps)
        instruction = requantise_tile(tile, requant)
        params, loads, lanes = in_vectors(channels)
        sums = Buffer("sums", DType.I32, pixels * channels, Role.LOCAL)
        given = Buffer("given", DType.I32, sums.elements, Role.INPUT)
        y = Buffer("y", DType.I8, 400, Role.OUTPUT)
        body = (Declare(sums), copied(sums, given, sums.elements), *loads)
        body += (Invoke(instruction, (at(y, 3), at(sums), *lanes)),)
        proc = unroll(Proc("calling", (given, *params, y), body), "i")
        constants = {**tables(requant, channels, sums.elements), "y": np.zeros(400, np.int8)}
        yield proc_check(f"{instruction.name}_{kind}_{steps[0]}_{steps[1]}", proc, constants)


HALVES = {
    "double": Requant(0, -32768, 32767, RequantRounding.DOUBLE, (-9, 31), False, DType.I16),
    "clamped": Requant(0, 0, 20000, RequantRounding.SINGLE, (1, 31), True, DType.I16),
    "reduced": Requant(0, -32768, 32767, RequantRounding.REDUCED, (-3, 16), True, DType.I16),
    "long": Requant(0, -32768, 30000, RequantRounding.REDUCED, (-3, 16), True, DType.I16, DType.I64),
    "long_to_bytes": Requant(9, -128, 127, RequantRounding.REDUCED, (-3, 16), True, DType.I8, DType.I64),
}


def requantised_to_halves() -> Iterator[Check]:
    """Sums of every size, most of which give results within the limits; those of 64 bits have up to 47."""
    every = product(HALVES.items(), (1, 2), (1, 3, 4), ((64, 1), (5, 50)))
    for (kind, r), pixels, channels, steps in every:
        tile = RequantTile(pixels, channels, *steps)
        dtypes = {"start": r.sum_dtype, "scale": DType.I32, "right": DType.I32}
        params = [Buffer(f"{n}s", dtype, channels, Role.CONSTANT) for n, dtype in dtypes.items()]
        is_reduced = r.rounding is RequantRounding.REDUCED
        instruction = requantise_tile(tile, r)
        own = list(instruction.params[2:])
        sums = Buffer("sums", r.sum_dtype, pixels * channels, Role.LOCAL)
        given = Buffer("given", r.sum_dtype, sums.elements, Role.INPUT)
        y = Buffer("y", r.dtype, 300, Role.OUTPUT)
        loads: list[Stmt] = [Declare(b) for b in own]
        for b, param in zip(own, params, strict=True):
            if is_reduced:
                loads.append(copied(b, param, channels))
            else:
                loads.append(Invoke(load_channels(channels, DType.I32), (at(b), at(param))))
        call = Invoke(instruction, (at(y, 3), at(sums), *map(at, own)))
        body = (Declare(sums), copied(sums, given, sums.elements), *loads, call)
        proc = unroll(Proc("calling", (given, *params, y), body), "i")
        yield proc_check(f"{instruction.name}_{kind}_{steps[0]}", proc, scales_of(r, channels, sums.elements))


def scales_of(r: Requant, channels: int, sums: int) -> dict[str, Array]:
    bits = 15 if r.rounding is RequantRounding.REDUCED else 31
    right = RNG.integers(r.rights[0], r.rights[1], channels, endpoint=True)
    scale = RNG.integers(1 << (bits - 1), 1 << bits, channels)
    most = 2.0 ** (47 if r.sum_dtype is DType.I64 else 30)
    wanted = RNG.uniform(1.5 * r.low, 1.5 * r.high, sums) + 0.5
    near = np.clip(wanted / np.ldexp(scale, -bits - right)[np.arange(sums) % channels], -most, most)
    start = RNG.integers(-1000, 1000, channels)
    given = near.astype(r.sum_dtype.numpy) - start.astype(r.sum_dtype.numpy)[np.arange(sums) % channels]
    return {
        "starts": start.astype(r.sum_dtype.numpy),
        "scales": scale.astype(np.int32),
        "rights": right.astype(np.int32),
        "given": given,
        "y": np.zeros(300, r.dtype.numpy),
    }


def rounded_once_everywhere() -> Iterator[Check]:
    """Four scales at a time: the ends of their range, powers of two (whose sums lie half way), any."""
    mults = (1 << 30, (1 << 31) - 1, 3 << 29, (1 << 30) + 1)
    for kind, shifts in (
        ("once", (1, 2, 9, 31)),
        ("once", (8, 15, 22, 30)),
        ("once_any_shift", (0, -3, -30, 1)),
        ("to_even_from_half", (0, 1, 2, 31)),
        ("to_odd", (1, 9, 15, 22)),
    ):
        for turn in range(4):
            mult = np.array([mults[(n + turn) % 4] for n in range(4)], np.int32)
            if KINDS[kind].parity is not None:
                mult[:] = 1 << 30
            given = np.stack([around_results(int(m), s) for m, s in zip(mult, shifts, strict=True)], axis=1)
            yield many_sums_check(
                f"{kind}_{shifts[0]}_{turn}", KINDS[kind], given, mult, np.array(shifts, np.int8)
            )


def many_sums_check(name: str, requant: Requant, given: Array, mult: Array, right: Array) -> Check:
    """`given`: the sums of each channel by row; there are four channels."""
    count, channels = given.shape
    params, loads, lanes = in_vectors(channels)
    sums = Buffer("sums", DType.I32, channels, Role.LOCAL)
    source = Buffer("given", DType.I32, given.size, Role.INPUT)
    y = Buffer("y", DType.I8, given.size, Role.OUTPUT)
    n = variable("n")
    copies = tuple(Store(at(sums, c), load(source, n * channels + c)) for c in range(channels))
    instruction = requantise_tile(RequantTile(1, channels, 0, 1), requant)
    call = Invoke(instruction, (at(y, n * channels), at(sums), *lanes))
    proc = Proc("calling", (source, *params, y), (*loads, For("n", count, (Declare(sums), *copies, call))))
    constants = {
        "given": given.reshape(-1),
        "mult": mult,
        "right": right,
        "bias": np.zeros(channels, np.int32),
    }
    return proc_check(name, proc, constants)


# Kernel rows, taps, length, bytes from pixel to pixel, aligned; in one statement unless said.
ROWS = (
    (1, 1, 16, 16, True),
    (1, 1, 8, 8, False),
    (1, 1, 27, 27, False),
    (1, 1, 106, 106, False),
    (2, 1, 16, 48, True),
    (3, 1, 48, 16, False),
    (3, 1, 96, 32, True),
    (1, 2, 32, 32, True),
    (1, 1, 64, 400, True),  # out of reach
    (3, 1, 9, 6, False),  # of too many pointers
)


def rows(form: WeightForm = WeightForm.BYTES) -> Iterator[Check]:
    every = product(ROWS, (2, 3, 7, 8), ((60, 1), (130, 1), (1, 11)))
    for n, (window, pixels, steps) in enumerate(every):
        kind, requant = list(KINDS.items())[n % len(KINDS)]
        yield row_check(kind, requant, window, pixels, steps, 4 if n % 5 else 3, form)


def row_check(
    kind: str,
    requant: Requant,
    window: tuple[int, int, int, int, bool],
    pixels: int,
    steps: tuple[int, int],
    channels: int,
    form: WeightForm,
) -> Check:
    kernel_rows, taps, length, x_step, aligned = window
    sums = HeliumDotTile(2, channels, kernel_rows, taps, length, x_step, 64, aligned, form)
    row = DotRow(sums, RequantTile(2, channels, *steps), pixels, requant, is_small=pixels == 7)
    instruction, first = dot_row(row), 0 if aligned else 3
    depth = kernel_rows * taps * length
    reach = (pixels - 1) * x_step + (taps - 1) * 64 + length
    x = Buffer("x", DType.I8, first + reach + READ_AHEAD, Role.ROWS, kernel_rows)
    weights = [b for b in instruction.params if b.name in ("w", "rest")]
    ws = [Buffer(b.name, DType.I8, channels * depth + READ_AHEAD, Role.CONSTANT) for b in weights]
    params, loads, lanes = in_vectors(channels)
    y = Buffer("y", DType.I8, 3 + (pixels - 1) * steps[0] + (channels - 1) * steps[1] + 1, Role.OUTPUT)
    places = (at(y, 3), at(x, first), *(at(w) for w in ws), *lanes)
    proc = Proc("calling", (x, *ws, *params, y), (*loads, Invoke(instruction, places)))
    right = np.full(channels, max(int(np.log2(np.sqrt(depth) * 84)), requant.rights[0]), np.int8)
    constants = {n: a for n, a in tables(requant, channels, 1).items() if n != "given"}
    constants |= {"right": right, "y": np.zeros(y.elements, np.int8)}
    return proc_check(f"{instruction.name}_{kind}_{pixels}", proc, constants)


LONG_ROW = (1, 1, 176, 176, True)


def row_of_fours(
    window: tuple[int, int, int, int, bool], pixels: int, steps: tuple[int, int], requant: Requant, fours: int
) -> DotRowFours:
    kernel_rows, taps, length, x_step, aligned = window
    sums = HeliumDotTile(2, 4, kernel_rows, taps, length, x_step, 64, aligned)
    return DotRowFours(DotRow(sums, RequantTile(2, 4, *steps), pixels, requant), fours)


def rows_of_fours() -> Iterator[Check]:
    windows = (*ROWS[:-1], LONG_ROW)
    every = product(windows, (3, 4, 5, 6, 7), ((60, 1), (130, 1), (1, 11)))
    for n, (window, pixels, steps) in enumerate(every):
        kind = ("relu", "signed", "clamped", "short", "once", "to_odd")[n % 6]
        tile = row_of_fours(window, pixels, steps, KINDS[kind], 2 + n % 2)
        if tile.fits:
            yield row_of_fours_check(kind, tile)


def row_of_fours_check(kind: str, tile: DotRowFours) -> Check:
    row, channels = tile.row, 4 * tile.fours
    instruction, sums, ends = dot_row_fours(tile), row.sums, row.ends
    first, depth = 0 if sums.x_aligned else 3, sums.kernel_rows * sums.taps * sums.length
    reach = (row.pixels - 1) * sums.x_step + (sums.taps - 1) * 64 + sums.length
    x = Buffer("x", DType.I8, first + reach + READ_AHEAD, Role.ROWS, sums.kernel_rows)
    weights = [b for b in instruction.params if b.name in ("w", "rest")]
    ws = [Buffer(b.name, DType.I8, channels * depth + READ_AHEAD, Role.CONSTANT) for b in weights]
    bias, mult = (Buffer(name, DType.I32, channels, Role.CONSTANT) for name in ("bias", "mult"))
    right = Buffer("right", DType.I8, channels, Role.CONSTANT)
    size = 3 + (row.pixels - 1) * ends.pixel_step + (channels - 1) * ends.channel_step + 1
    y = Buffer("y", DType.I8, size, Role.OUTPUT)
    places = (at(y, 3), at(x, first), *(at(w) for w in ws), at(bias), at(mult), at(right))
    proc = Proc("calling", (x, *ws, bias, mult, right, y), (Invoke(instruction, places),))
    shift = max(int(np.log2(np.sqrt(depth) * 84)), row.requant.rights[0])
    constants = {n: a for n, a in tables(row.requant, channels, 1).items() if n != "given"}
    constants |= {"right": np.full(channels, shift, np.int8), "y": np.zeros(size, np.int8)}
    return proc_check(f"{instruction.name}_{kind}", proc, constants)


def blocks(form: WeightForm = WeightForm.BYTES) -> Iterator[Check]:
    every = product((1, 3, 4, 5, 9, 40), (1, 2, 5))
    for n, (steps, count) in enumerate(every):
        kind = ("relu", "signed", "clamped", "short", "once")[n % 5]
        requant, channels, length = KINDS[kind], 4 * count, 16 * steps
        instruction = dot_blocks(DotBlocks(count, steps, requant, form))
        x = Buffer("x", DType.I8, length + 1, Role.ROWS)
        w = Buffer("w", DType.I8, channels * length, Role.CONSTANT)
        bias, mult = (Buffer(name, DType.I32, channels, Role.CONSTANT) for name in ("bias", "mult"))
        right = Buffer("right", DType.I8, channels, Role.CONSTANT)
        y = Buffer("y", DType.I8, channels + 1, Role.OUTPUT)
        places = (at(y, 1), at(x, 1), at(w), at(bias), at(mult), at(right))
        proc = Proc("calling", (x, w, bias, mult, right, y), (Invoke(instruction, places),))
        constants = {n: a for n, a in tables(requant, channels, 1).items() if n != "given"}
        shifts = np.full(channels, int(np.log2(np.sqrt(length) * 84)), np.int8)
        constants |= {"right": shifts, "y": np.zeros(y.elements, np.int8)}
        yield proc_check(f"{instruction.name}_{kind}", proc, constants)


def test_rows_of_many_kinds_are_one_statement():
    def row(window: tuple[int, int, int, int, bool], channel_step: int) -> DotRow:
        kernel_rows, taps, length, x_step, aligned = window
        sums = HeliumDotTile(2, 4, kernel_rows, taps, length, x_step, 64, aligned)
        return DotRow(sums, RequantTile(2, 4, 1, channel_step), 8, KINDS["relu"])

    assert [row(window, 1).is_in_asm for window in ROWS] == [True] * 8 + [False] * 2
    assert not row((3, 1, 48, 16, True), 11).is_in_asm


def test_fours_of_rows_are_one_statement_if_registers_hold_its_pointers():
    def fit(
        window: tuple[int, int, int, int, bool], channel_step: int, pixels: int = 5, fours: int = 2
    ) -> bool:
        return row_of_fours(window, pixels, (1, channel_step), KINDS["relu"], fours).fits

    assert all(fit(window, step) for window, step in product(ROWS[:5], (1, 11)))
    assert not any(fit(window, 1) for window in ROWS[5:7])  # of three rows
    assert fit(LONG_ROW, 1, pixels=3)  # no tile is written twice
    assert not fit(LONG_ROW, 1)
    assert not fit(ROWS[0], 1, pixels=2)
    assert not fit(ROWS[0], 1, fours=1)


def filling(instruction: Instruction, elements: int, room: int, first: int) -> Proc:
    """An array on the stack that the instruction fills, and what is in it then."""
    _, x = instruction.params
    source = Buffer(x.name, DType.I8, SOURCE, Role.ROWS, x.rows)
    array = Buffer("array", DType.I8, room, Role.LOCAL)
    y = Buffer("y", DType.I8, elements, Role.OUTPUT)
    call = Invoke(instruction, (at(array), at(source, first)))
    return Proc("calling", (source, y), (Declare(array), call, copied(y, array, elements)))


def windows() -> Iterator[Check]:
    for (rows, length), pixels, x_step in product(
        ((3, 9), (10, 4), (2, 15), (1, 1), (5, 7)), (1, 3, 8), (1, 6, 30)
    ):
        instruction = copy_windows(pixels, rows, length, x_step)
        size = pixels * rows * length
        yield proc_check(instruction.name, filling(instruction, size, size, first=1))


def interleaved() -> Iterator[Check]:
    for rows, pixels in product((1, 2, 3, 4), (1, 15, 16, 17, 100)):
        instruction = interleave(rows, pixels)
        yield proc_check(
            instruction.name, filling(instruction, pixels * PIXEL, (pixels + 16) * PIXEL, first=1)
        )


DEPTHWISE_KERNELS = ((3, 3), (1, 4), (4, 1), (2, 2))
PLACES = ((1, (4, 1)), (2, (1, 20)), (1, (200, 1)))  # stride, steps of the output along pixels and channels


def depthwise(form: WeightForm = WeightForm.BYTES) -> Iterator[Check]:
    every = product(KINDS.items(), (1, 2, 3, 4), (1, 2, 6, 7, 12))
    for n, ((kind, requant), channels, outputs) in enumerate(every):
        rows, columns = DEPTHWISE_KERNELS[n % len(DEPTHWISE_KERNELS)]
        stride, steps = PLACES[n % len(PLACES)]
        tile = InterleavedRows(channels, rows, columns, stride, outputs, 30, *steps, is_general=stride == 2)
        tile = replace(tile, form=form, is_padded=form.is_four_bits)
        yield depthwise_check(f"depthwise_{n}_{kind}", tile, requant)


def depthwise_check(name: str, tile: InterleavedRows, requant: Requant) -> Check:
    params, loads, lanes = in_vectors(tile.channels)
    pixels = (tile.channels - 1) * tile.pitch + tile.outputs * tile.stride + CHUNK
    lines = Buffer("lines", DType.I8, pixels * PIXEL, Role.INPUT)
    w = Buffer("w", DType.I8, 70, Role.CONSTANT)
    size = (tile.outputs - 1) * tile.y_step + (tile.channels - 1) * tile.y_channel_step + 1
    y = Buffer("y", DType.I8, size, Role.OUTPUT)
    body = (*loads, Invoke(depthwise_rows(tile, requant), (at(y), at(lines), at(w), *lanes)))
    interleaved_rows = RNG.integers(-128, 128, (pixels, PIXEL)).astype(np.int8)
    interleaved_rows[:, tile.rows :] = 0
    constants = {"lines": interleaved_rows.reshape(-1), "y": np.zeros(size, np.int8)}
    constants |= {n: a for n, a in tables(requant, tile.channels, 1).items() if n != "given"}  # type: ignore[misc]
    return proc_check(name, Proc("calling", (lines, w, *params, y), body), constants)


def depthwise_in_fours(form: WeightForm = WeightForm.BYTES) -> Iterator[Check]:
    every = product(DEPTHWISE_KERNELS, (1, 2), (1, 2, 5, 6, 7, 12))
    for n, ((rows, columns), fours, outputs) in enumerate(every):
        kind, requant = list(KINDS.items())[n % len(KINDS)]
        stride, steps = ((1, (1, 50)), (2, (60, 1)), (1, (200, 1)))[n % 3]
        tile = InterleavedRows(4, rows, columns, stride, outputs, 30, *steps, is_padded=True, form=form)
        instruction, channels = depthwise_fours(tile, fours, requant), 4 * fours
        pixels = (channels - 1) * tile.pitch + outputs * stride + CHUNK
        lines = Buffer("lines", DType.I8, pixels * PIXEL, Role.INPUT)
        w = Buffer("w", DType.I8, channels * columns * PIXEL, Role.CONSTANT)
        bias, mult = (Buffer(name, DType.I32, channels, Role.CONSTANT) for name in ("bias", "mult"))
        right = Buffer("right", DType.I8, channels, Role.CONSTANT)
        size = (outputs - 1) * steps[0] + (channels - 1) * steps[1] + 1
        y = Buffer("y", DType.I8, size, Role.OUTPUT)
        places = (at(y), at(lines), at(w), at(bias), at(mult), at(right))
        proc = Proc("calling", (lines, w, bias, mult, right, y), (Invoke(instruction, places),))
        interleaved_rows = RNG.integers(-128, 128, (pixels, PIXEL)).astype(np.int8)
        interleaved_rows[:, rows:] = 0
        constants: dict[str, Array] = {"lines": interleaved_rows.reshape(-1), "y": np.zeros(size, np.int8)}
        constants |= {n: a for n, a in tables(requant, channels, 1).items() if n != "given"}
        yield proc_check(f"{instruction.name}_{kind}", proc, constants)


# Rows, columns: loops over both, over either, over none.
CHANNEL_KERNELS = ((1, 1), (9, 1), (12, 1), (1, 11), (3, 12), (5, 5))
CHANNEL_STEPS = ((20, (16, 1)), (130, (1, 9)))  # of taps, of the output along pixels and channels


def depthwise_side_by_side() -> Iterator[Check]:
    every = product(CHANNEL_KERNELS, (1, 2, 8, 9, 15, 16), (1, 3))
    for n, ((rows, columns), channels, outputs) in enumerate(every):
        kind, requant = list(KINDS.items())[n % len(KINDS)]
        step, places = CHANNEL_STEPS[n % 5 % 2]
        tile = DepthwiseChannels(channels, rows, columns, step, outputs, 21, *places, is_small=n % 3 == 0)
        yield side_by_side_check(f"{tile.name}_{kind}_{n}", tile, requant)


def side_by_side_check(name: str, tile: DepthwiseChannels, requant: Requant) -> Check:
    length = 1 + (tile.columns - 1) * tile.tap_step + (tile.outputs - 1) * tile.x_step + tile.packed
    x = Buffer("x", DType.I8, length, Role.ROWS, tile.rows)
    w = Buffer("w", DType.I8, tile.rows * tile.columns * tile.packed, Role.CONSTANT)
    bias, mult = (Buffer(n, DType.I32, tile.channels, Role.CONSTANT) for n in ("bias", "mult"))
    right = Buffer("right", DType.I8, tile.channels, Role.CONSTANT)
    size = (tile.outputs - 1) * tile.y_step + (tile.channels - 1) * tile.y_channel_step + 1
    y = Buffer("y", DType.I8, size, Role.OUTPUT)
    places = (at(y), at(x, 1), at(w), at(bias), at(mult), at(right))
    body = (Invoke(depthwise_channels(tile, requant), places),)
    constants = {n: a for n, a in tables(requant, tile.channels, 1).items() if n != "given"}
    constants["y"] = np.zeros(size, np.int8)
    return proc_check(name, Proc("calling", (x, w, bias, mult, right, y), body), constants)


def pools() -> Iterator[Check]:
    for channels, pixels in product((1, 3, 4), (1, 2, 9)):
        instruction = add_pixels(channels, pixels, 30)
        x = Buffer("x", DType.I8, SOURCE, Role.INPUT)
        given = Buffer("given", DType.I32, channels, Role.INPUT)
        y = Buffer("y", DType.I32, channels, Role.OUTPUT)
        body = (copied(y, given, channels), Invoke(instruction, (at(y), at(x, 1))))
        yield proc_check(instruction.name, Proc("calling", (x, given, y), body))


HALF = (1 << 30, 0)
SUMS = {
    "equal_scales": AddParameters(20, HALF, HALF, (1 << 30, -18)),
    "first_smaller": AddParameters(20, (1518500250, -2), HALF, (1098017566, -17)),
    "second_smaller": AddParameters(20, HALF, (1623821475, -1), (2147483647, -19)),
    "tiny": AddParameters(20, (1234567890, -13), HALF, (1500000000, -11)),
    "unshifted": AddParameters(20, (2000000000, -1), HALF, (1100000000, 0)),
}


def sums_of_rows() -> Iterator[Check]:
    for (name, p), sign, count in product(SUMS.items(), "+-", (1, 7, 8, 9, 64)):
        zeros, result = (
            (-128, 127),
            StoredResult(4, -100, 127) if count == 9 else StoredResult(-17, -128, 127),
        )
        instruction = sum_row(sign, count, p, zeros, result, sum_int8(sign, p, zeros, result))
        a, b = (Buffer(n, DType.I8, count, Role.INPUT) for n in "ab")
        y = Buffer("y", DType.I8, count, Role.OUTPUT)
        proc = Proc("calling", (a, b, y), (Invoke(instruction, (at(y), at(a), at(b))),))
        yield proc_check(f"{name}_{instruction.name}", proc)


SUMS_BY_SHIFTS = {
    "equal": AddParameters(20, HALF, HALF, (1 << 30, -18)),
    "first_smaller": AddParameters(20, (1 << 30, -3), HALF, (1 << 30, -17)),
    "second_far_smaller": AddParameters(20, HALF, (1 << 30, -9), (1 << 30, -20)),
}


def sums_with_exact_halves() -> Iterator[Check]:
    for (name, p), sign, rounding in product(SUMS_BY_SHIFTS.items(), "+-", PARITY):
        zeros, count = (-128, 127) if sign == "+" else (5, -6), 65
        result = StoredResult(-17, -128, 127)
        scalar = sum_int8(sign, p, zeros, result, rounding)
        instruction = sum_row(sign, count, p, zeros, result, scalar, rounding)
        a, b = (Buffer(n, DType.I8, count, Role.INPUT) for n in "ab")
        y = Buffer("y", DType.I8, count, Role.OUTPUT)
        proc = Proc("calling", (a, b, y), (Invoke(instruction, (at(y), at(a), at(b))),))
        yield proc_check(f"{name}_{instruction.name}", proc)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(
    "instructions",
    [
        *(partial(dots, channels) for channels in (1, 2, 3, 4)),
        partial(dots, 4, WeightForm.JOINED),
        partial(dots, 3, WeightForm.NIBBLES),
        *(partial(dots_of_halves, dtype) for dtype in (DType.I32, DType.I64)),
        requantised,
        requantised_to_halves,
        rounded_once_everywhere,
        rows,
        *(partial(rows, form) for form in FOUR_BITS),
        rows_of_fours,
        blocks,
        *(partial(blocks, form) for form in FOUR_BITS),
        windows,
        interleaved,
        depthwise,
        partial(depthwise, WeightForm.NIBBLES),
        depthwise_in_fours,
        partial(depthwise_in_fours, WeightForm.NIBBLES),
        depthwise_side_by_side,
        pools,
        sums_of_rows,
        sums_with_exact_halves,
    ],
)
def test_instructions_do_what_their_nests_say(instructions, compiler, tmp_path):
    name, every = compiler
    checks = list(islice(instructions(), 0, None, every))
    assert failures_on_board(checks, tmp_path / "checks", BOARD, name) == {}


@pytest.mark.parametrize("rounding", PARITY)
@pytest.mark.parametrize("kind", ["conv", "depthwise", "dense"])
def test_exact_halves_are_rounded_in_vectors(kind, rounding):
    d = Draft()
    x = d.input("x", 1, 256) if kind == "dense" else d.input("x", 1, 9, 9, 16)
    given = (16,) if kind != "depthwise" else ()
    case = by_powers(OpCase(kind, d.graph(getattr(d, kind)("y", x, *given))), rounding)
    text = compiled(case.graph, MVE, OPTIONS["speed"], "model").sources["model.c"]
    assert f"halves to {rounding.value}" in text
    assert "vrshl" in text
    assert "int64_t" not in text


# Kernel sizes and channels: few pointers and many, remainders, loops, and neighbors out of reach.
TILES = ((1, 136), (1, 152), (1, 600), (2, 67), (2, 200), (3, 100), (3, 200), (4, 12), (4, 50), (5, 30))
LEVELS = ("-O0", "-Og", "-O1", "-Os", "-O2", "-O3")


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("options", ["speed", "size"])
def test_gcc_finds_registers_for_tiles_of_any_window_at_every_level(options, tmp_path):
    d = Draft()
    valid = ((0, 0), (0, 0))
    made = [
        d.conv(f"y{n}", d.input(f"x{n}", 1, 7, 7, channels), 12, size, padding=valid)
        for n, (size, channels) in enumerate(TILES)
    ]
    model = compiled(d.graph(*made), MVE, OPTIONS[options], "model")
    for size, channels in TILES:
        assert f"dot_2x4_{size}_rows_of_{size * channels}_" in model.sources["model.c"]
    for name, text in model.sources.items():
        (tmp_path / Path(name).name).write_text(text)
    core = ("-mcpu=cortex-m55", "-mfloat-abi=hard", "-std=c99", "-Werror", "-c")
    for flags in product(LEVELS, ("-fomit-frame-pointer", "-fno-omit-frame-pointer")):
        words = ("arm-none-eabi-gcc", *core, *flags, "model.c")
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{flags}: {done.stderr}"
