"""The C of every instruction of RISC-V's vectors does what its loop nest says, in QEMU."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from c_checks import Check, failures_on_board
from proc_checks import around_results, proc_check

from aot.ir.types import Array, DType
from aot.ops.rounding import RequantRounding
from codegen.isa.plain.requantise import Requant
from codegen.isa.rvv.requantise import Groups
from codegen.isa.rvv.row_block import RowBlock, depthwise_channels, dot_channels
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Instruction, Invoke, Proc, Role, at

BOARD = "qemu-riscv32-vectors"
RNG = np.random.default_rng(29)
KINDS = {
    "relu": Requant(-128, -128, 127, RequantRounding.DOUBLE, (1, 31), True),
    "signed": Requant(5, -128, 127, RequantRounding.DOUBLE, (1, 31), True),
    "clamped": Requant(-9, -9, 90, RequantRounding.DOUBLE, (1, 22), True),
    "any_shift": Requant(3, -100, 127, RequantRounding.DOUBLE, (-30, 31), False),
    "once": Requant(5, -128, 127, RequantRounding.SINGLE, (1, 31), True),
    "once_any_shift": Requant(3, -100, 127, RequantRounding.SINGLE, (-30, 31), False),
}
CHANNELS = (1, 3, 8, 16, 17, 32)
WINDOWS = ((1, 1), (3, 1), (1, 4), (2, 3))  # kernel rows and taps
STEPS = ((70, 1), (1, 40))  # of the output along pixels and channels


def tables(requant: Requant, channels: int, products: int) -> dict[str, Array]:
    """Constants of channels whose results take the whole range, and more; left shifts where there are any."""
    right = np.full(channels, int(np.log2(np.sqrt(products) * 84)))
    if requant.rights[0] < 1:
        right[::3] = RNG.integers(-3, 1, len(right[::3]))
    bias, mult = RNG.integers(-1000, 1000, channels), RNG.integers(1 << 30, 1 << 31, channels)
    return {"bias": bias.astype(np.int32), "mult": mult.astype(np.int32), "right": right.astype(np.int8)}


def block_check(
    name: str, block: RowBlock, instruction: Instruction, reach: int, weights: int, requant: Requant
) -> Check:
    """`reach`: bytes of a row that are read; the block begins a few bytes into its rows."""
    x = Buffer("x", DType.I8, 3 + reach, Role.ROWS, block.rows)
    w = Buffer("w", DType.I8, weights * block.channels, Role.CONSTANT)
    bias, mult = (Buffer(n, DType.I32, block.channels, Role.CONSTANT) for n in ("bias", "mult"))
    right = Buffer("right", DType.I8, block.channels, Role.CONSTANT)
    last = (block.outputs - 1) * block.y_step + (block.channels - 1) * block.y_channel_step
    y = Buffer("y", DType.I8, last + 2, Role.OUTPUT)
    places = (at(y, 1), at(x, 3), at(w), at(bias), at(mult), at(right))
    proc = Proc("calling", (x, w, bias, mult, right, y), (Invoke(instruction, places),))
    constants = {**tables(requant, block.channels, weights), "y": np.zeros(y.elements, np.int8)}
    return proc_check(name, proc, constants)


def shapes() -> Iterator[tuple[int, str, Requant, RowBlock]]:
    """Blocks of every size of groups, rows of one tile, of whole tiles and of a smaller one at the end."""
    for n, (channels, (rows, taps)) in enumerate(product(CHANNELS, WINDOWS)):
        kind, requant = list(KINDS.items())[n % len(KINDS)]
        outputs = (1, 2, 7, 8, 15)[n % 5]
        yield n, kind, requant, RowBlock(channels, rows, taps, 50, outputs, 21, *STEPS[n % 3 % 2])


def dots() -> Iterator[Check]:
    for n, kind, requant, block in shapes():
        length = (1, 9, 16, 40)[n % 4]
        reach = (block.outputs - 1) * block.x_step + (block.taps - 1) * block.tap_step + length
        instruction = dot_channels(block, length, requant)
        weights = block.rows * block.taps * length
        yield block_check(f"dots_{n}_{kind}", block, instruction, reach, weights, requant)


def depthwise() -> Iterator[Check]:
    for n, kind, requant, block in shapes():
        reach = (block.outputs - 1) * block.x_step + (block.taps - 1) * block.tap_step + block.channels
        weights = block.rows * block.taps
        instruction = depthwise_channels(block, requant)
        yield block_check(f"depthwise_{n}_{kind}", block, instruction, reach, weights, requant)


def rounded_once_everywhere() -> Iterator[Check]:
    """Without products sums are their bias: those next to each change of a result, for several scales."""
    mults = (1 << 30, (1 << 31) - 1, 3 << 29, (1 << 30) + 1)
    block = RowBlock(32, 1, 1, 0, 1, 0, *STEPS[0])
    for kind, shifts in (("once", (1, 9, 22, 31)), ("once_any_shift", (0, -3, -30, 15))):
        instruction = dot_channels(block, 1, KINDS[kind])
        scales = list(product(mults, shifts))
        sums = np.concatenate([around_results(m, s) for m, s in scales])
        each = len(sums) // len(scales)
        count = -(-len(sums) // block.channels)
        constants = {
            "bias": np.resize(sums, count * block.channels),
            "mult": np.resize(np.repeat([m for m, _ in scales], each), count * block.channels).astype(
                np.int32
            ),
            "right": np.resize(np.repeat([s for _, s in scales], each), count * block.channels).astype(
                np.int8
            ),
            "w": np.zeros(block.channels, np.int8),
        }
        x, w = Buffer("x", DType.I8, 1, Role.ROWS), Buffer("w", DType.I8, block.channels, Role.CONSTANT)
        bias, mult = (Buffer(n, DType.I32, count * block.channels, Role.CONSTANT) for n in ("bias", "mult"))
        right = Buffer("right", DType.I8, bias.elements, Role.CONSTANT)
        y, first = Buffer("y", DType.I8, bias.elements, Role.OUTPUT), variable("n") * block.channels
        places = (at(y, first), at(x), at(w), at(bias, first), at(mult, first), at(right, first))
        proc = Proc(
            "calling", (x, w, bias, mult, right, y), (For("n", count, (Invoke(instruction, places),)),)
        )
        yield proc_check(kind, proc, constants)


@pytest.mark.cc
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(
    "checks", [dots, depthwise, rounded_once_everywhere], ids=lambda checks: checks.__name__
)
def test_instructions_do_what_their_nests_say(checks, require_tool, require_package, tmp_path):
    require_package("ziglang")
    require_tool("qemu-system-riscv32")
    assert failures_on_board(list(checks()), tmp_path / "checks", BOARD) == {}


@pytest.mark.parametrize("channels", CHANNELS)
def test_registers_are_no_more_than_there_are(channels):
    groups = Groups(channels)
    for wide in (1, 2):
        held = groups.sums_at_once(wide) * groups.sums + wide * groups.sums // 2 + groups.sums // 4
        assert groups.sums_at_once(wide) >= 2
        assert held <= 31  # v0 is for masks
