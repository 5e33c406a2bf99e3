"""Dot products on Helium with 4-bit weights, two channels per byte: a row of pixels, or one vector.

for blocks of four channels: their constants into vector registers
    a row of pixels, two at a time, summed and stored

For a single vector, all blocks are one instruction. Layers that fit neither case use 8-bit weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType
from codegen.isa.helium.dot_blocks import MOST_STEPS, DotBlocks, dot_blocks
from codegen.isa.helium.dot_row import DotRow, dot_row
from codegen.isa.helium.dots import LANES, READ_AHEAD, HeliumDotTile
from codegen.isa.helium.four_bits import DIGITS, WeightForm, in_bytes
from codegen.isa.helium.requantise import RequantTile, in_vector, load_channels
from codegen.isa.plain.requantise import Requant
from codegen.kernels.dot_product import DotProblem, ScheduledDot
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, Declare, For, Invoke, Proc, Role, Stmt, at

CHANNELS, PIXELS = 4, 2
_WHY = "2 x 4 sums per tile, weights of four bits, 8-bit rows in place"


@dataclass(frozen=True, slots=True)
class _Block:
    """Blocks of channels of one size, and the offset of their weights."""

    first: int  # channel
    channels: int  # of a block
    count: int


def _blocks(channels: int) -> tuple[_Block, ...]:
    whole, rest = divmod(channels, CHANNELS)
    both = (_Block(0, CHANNELS, whole), _Block(whole * CHANNELS, rest, 1))
    return tuple(block for block in both if block.count * block.channels)


def row_of(p: DotProblem, requant: Requant, channels: int, is_small: bool, form: WeightForm) -> DotRow:
    window = (p.kernel_rows, p.taps, p.length, p.x_step, p.tap_step)
    sums = HeliumDotTile(PIXELS, channels, *window, x_aligned=p.x_aligned, form=form)
    ends = RequantTile(PIXELS, channels, p.y_pixel_step, p.y_channel_step)
    return DotRow(sums, ends, p.pixels, requant, is_small)


def blocks_of(p: DotProblem, requant: Requant, form: WeightForm) -> DotBlocks:
    return DotBlocks(p.channels // CHANNELS, p.length // LANES, requant, form)


def is_row(p: DotProblem, requant: Requant, is_small: bool, form: WeightForm) -> bool:
    """Returns True for rows of pixels that one statement can compute."""
    is_wide = p.pixels >= PIXELS and p.channels >= CHANNELS
    return is_wide and row_of(p, requant, CHANNELS, is_small, form).is_in_asm


def is_vector(p: DotProblem, requant: Requant) -> bool:
    """Returns True for one vector of whole sixteens, by whole blocks, if `dot_blocks` rounds so."""
    is_one = p.pixels == p.kernel_rows == p.taps == p.y_channel_step == 1
    is_whole = p.length % LANES == 0 and p.channels % CHANNELS == 0
    return (
        is_one
        and is_whole
        and p.length // LANES <= MOST_STEPS
        and requant.rights[0] >= 1
        and requant.parity is None
    )


def four_bit_rows(p: DotProblem, requant: Requant, is_small: bool, form: WeightForm) -> ScheduledDot:
    """Returns blocks of channels, each a row of pixels."""
    x, y, tables = _buffers(p)
    values = p.kernel_rows * p.taps * p.length
    w = Buffer("w", DType.I8, form.vectors(p.channels) * values + _ahead(p), Role.CONSTANT)
    body = []
    for block in _blocks(p.channels):
        name = "ob" if block.first == 0 else "ob_rest"
        channel = variable(name) * block.channels + block.first
        w_first = (variable(name) * form.vectors(block.channels) + block.first // DIGITS) * values
        lanes = [in_vector(n, block.channels) for n in ("start", "scale", "shift")]
        loads: list[Stmt] = [Declare(lane) for lane in lanes]
        for lane, table in zip(lanes, tables, strict=True):
            load = load_channels(block.channels, table.dtype)
            loads.append(Invoke(load, (at(lane), at(table, channel))))
        row = row_of(p, requant, block.channels, is_small, form)
        rest_first = w_first + form.vectors(block.channels) * p.kernel_rows * p.taps * row.sums.steps * LANES
        weights = ([w_first] if row.sums.steps else []) + ([rest_first] if row.sums.rest else [])
        places = (
            at(y, channel * p.y_channel_step + p.y_first),
            at(x, p.x_first),
            *(at(w, first) for first in weights),
            *(at(lane) for lane in lanes),
        )
        body.append(For(name, block.count, (*loads, Invoke(dot_row(row), places))))
    proc = Proc(p.name, (x, y, w, *tables), tuple(body))
    return ScheduledDot("helium", _WHY, proc, elements=lambda weights: _packed(p, form, weights))


def four_bit_vector(p: DotProblem, requant: Requant, form: WeightForm) -> ScheduledDot:
    """Returns all blocks of channels in one instruction."""
    x, y, tables = _buffers(p)
    w = Buffer("w", DType.I8, form.vectors(p.channels) * p.length, Role.CONSTANT)
    places = (at(y, p.y_first), at(x, p.x_first), at(w), *(at(table) for table in tables))
    body = (Invoke(dot_blocks(blocks_of(p, requant, form)), places),)
    proc = Proc(p.name, (x, y, w, *tables), body)
    return ScheduledDot("helium", _WHY, proc, elements=lambda weights: _packed(p, form, weights))


def _buffers(p: DotProblem) -> tuple[Buffer, Buffer, tuple[Buffer, Buffer, Buffer]]:
    x = Buffer("x", p.x_dtype, p.x_elements, Role.ROWS, p.kernel_rows)
    y = Buffer("y", p.y_dtype, p.y_elements, Role.OUTPUT)
    bias, mult = (Buffer(name, DType.I32, p.channels, Role.CONSTANT) for name in ("bias", "mult"))
    return x, y, (bias, mult, Buffer("right", DType.I8, p.channels, Role.CONSTANT))


def _ahead(p: DotProblem) -> int:
    return READ_AHEAD if p.length % LANES else 0


def _packed(p: DotProblem, form: WeightForm, weights: Array) -> Array:
    """Packs weights block by block: [tap][step][pair of channels][lane], then the remainder of each tap."""
    taps = weights.reshape(weights.shape[0], p.kernel_rows * p.taps, p.length)
    whole = p.length // LANES * LANES
    parts = []
    for first in range(0, p.channels, CHANNELS):
        pairs = in_bytes(form, taps[first : first + CHANNELS])  # [pair][tap][k]
        steps = pairs[:, :, :whole].reshape(*pairs.shape[:2], -1, LANES)
        parts += [steps.transpose(1, 2, 0, 3).reshape(-1), pairs[:, :, whole:].transpose(1, 0, 2).reshape(-1)]
    return np.concatenate([*parts, np.zeros(_ahead(p), np.int8)])
