"""Every DSP instruction's C does what its loop nest says, run on an emulated Cortex-M4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from c_checks import failures_on_board
from proc_checks import proc_check

from aot.ir.types import DType
from codegen.instr.dsp import DotTile, dot
from codegen.instr.dsp_depthwise import STRIDES, DepthwiseRow, depthwise_row
from codegen.instr.instruction import Instruction
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, Declare, For, Invoke, Proc, Role, Stmt, Store, at, load
from codegen.loops.schedule import unroll

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
        if param.role not in SUMS:
            params.append(Buffer(param.name, param.dtype, ELEMENTS, param.role, param.rows))
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
    return unroll(Proc("calling", tuple(params), (*before, call, *after)), "i")


TILES = ((1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (3, 1), (3, 2))
STEPS = ((1, 16), (2, 1), (5, 4), (6, 16), (16, 4), (16, 16), (17, 16))  # groups, and of them in a turn


def dots() -> Iterator[tuple[str, Proc]]:
    """Every register tile that fits, lengths that become different loops, aligned or not."""
    for (pixels, channels), (steps, most), x_dtype in product(TILES, STEPS, (DType.I8, DType.I16)):
        for aligned, pixel_step in ((True, 8), (False, 3)):
            tile = DotTile(pixels, channels, steps, pixel_step, x_dtype, aligned, most)
            yield f"{tile.name}_{steps}", calling(dot(tile), x=0 if aligned else 1)
            if pixels < 3 and most == 16:
                general = replace(tile, is_general=True)
                yield f"{general.name}_{steps}_{pixel_step}", calling(dot(general), x=0 if aligned else 1)


def dots_of_wide_weights() -> Iterator[tuple[str, Proc]]:
    """The same with weights that were widened when they were stored; more channels then fit."""
    tiles = (*TILES, (1, 5), (1, 6))
    for (pixels, channels), (steps, most), x_dtype in product(tiles, STEPS, (DType.I8, DType.I16)):
        tile = DotTile(pixels, channels, steps, 8, x_dtype, True, most, DType.I16)
        yield f"{tile.name}_{steps}", calling(dot(tile))


def depthwise_rows() -> Iterator[tuple[str, Proc]]:
    for outputs, stride in product((1, 2, 3, 4, 5, 6, 9, 16, 17), STRIDES):
        row = DepthwiseRow(outputs, stride)
        for first in (0, 1, 2, 3):
            yield f"{row.name}_{outputs}_from_{first}", calling(depthwise_row(row), x=first, w=9 * first)
        general = replace(row, is_general=True)
        yield f"general_{row.name}_{outputs}", calling(depthwise_row(general), x=1, w=9)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("instructions", [dots, dots_of_wide_weights, depthwise_rows])
def test_instructions_do_what_their_nests_say(
    instructions: Callable[[], Iterator[tuple[str, Proc]]], require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    checks = [proc_check(name, proc) for name, proc in instructions()]
    assert failures_on_board(checks, tmp_path / "checks") == {}
