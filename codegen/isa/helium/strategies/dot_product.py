"""Dot products over rows on Helium: tiles of 2 pixels by 4 channels, rows read in place.

for blocks of four channels: their constants into vector registers
    for pairs of pixels:
        eight sums over the whole window, sixteen products at a time
        eight sums requantized, one channel per lane, and stored

If pixels and results are int8, a row of several pixels is one instruction (`dot_row`), which overlaps the two
steps. Pixels of 16 bits are multiplied in eights, one pixel at a time.

Windows of thin rows are first copied to contiguous memory, so that sixteen products need one load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from aot.ir.types import DType
from aot.ops.op import required
from aot.target import Optimize
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.dot_blocks import DotBlocks, dot_blocks
from codegen.isa.helium.dot_row import DotRow, dot_row
from codegen.isa.helium.dot_row_fours import DotRowFours, dot_row_fours
from codegen.isa.helium.dots import LANES, READ_AHEAD, HeliumDotTile, dot
from codegen.isa.helium.four_bits import form_of
from codegen.isa.helium.requantise import (
    RequantTile,
    fits_vectors,
    load_channels,
    requantise_tile,
)
from codegen.isa.helium.strategies.four_bits import (
    four_bit_rows,
    four_bit_vector,
    is_row,
    is_vector,
    row_of,
)
from codegen.isa.plain.requantise import Requant, exact_store
from codegen.kernels.conv2d import conv2d_strategy
from codegen.kernels.conv_site import conv_tail
from codegen.kernels.dense import dense_strategy, dense_tail
from codegen.kernels.dot_product import DotProblem, ScheduledDot, in_blocks, in_stored_rows
from codegen.kernels.kernel import Site
from codegen.kernels.requantised import channel_constants
from codegen.kernels.strategy import ADDS_NOTHING, BYTES_AS_WEIGHTS
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Instruction,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
    walk,
)
from codegen.loops.pack import Packing, pack
from codegen.loops.schedule import partition, privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

MOST_ROWS = 10  # each has a pointer in a register
LONGEST = 127  # bytes of a window: the largest offset of a byte store
_BLOCK = 4  # instructions under one VPST
_STACK_BYTES = (
    64  # of constants of several row statements, which registers do not hold while windows are copied
)
_MOST_INLINE = 6  # pointers; with more, a caller would lack registers


def copy_windows(pixels: int, rows: int, length: int, x_step: int) -> Instruction:
    """windows[i][r][k] = x[r][i * x_step + k] for the `length` bytes of each row, fewer than sixteen."""
    windows = Buffer("windows", DType.I8, 0, Role.SCRATCH)
    x = Buffer("x", DType.I8, 0, Role.ROWS, rows)
    i, r, k = variable("i"), variable("r"), variable("k")
    copy = Store(at(windows, i * (rows * length) + r * length + k), load(x, i * x_step + k, r))
    name = f"copy_windows_{rows}x{length}_step_{x_step}"
    given = ", ".join(f"{{x[{n}]}}" for n in range(rows))
    return Instruction(
        name=f"{name}_of_{pixels}",
        params=(windows, x),
        body=(For("i", pixels, (For("r", rows, (For("k", length, (copy,)),)),)),),
        call=f"{name}({{windows}}, {given}, {pixels});",
        definition=_definition(name, rows, length, x_step),
        includes=INCLUDES,
        calls=(FEW_REGISTERS,),
        needs=NEEDS,
        machine_instructions=len(_asm_lines(rows, length, x_step)),
        stack_bytes=_STACK_BYTES if rows <= _MOST_INLINE else 0,
        is_asm=True,  # stack estimates assume that it is always inlined
    )


def _definition(name: str, rows: int, length: int, x_step: int) -> str:
    xs = ", ".join(f"const int8_t *x{r}" for r in range(rows))
    pointers = ", ".join(f'[x{r}] "+r"(x{r})' for r in range(rows))
    kept = "inline " if rows <= _MOST_INLINE else "__attribute__((noinline)) "
    lines = [
        f"/* Windows of {rows} rows of {length} bytes, one after another. */",
        f"static {kept}void {name}(int8_t *windows, {xs}, int32_t pixels)",
        "{",
        "#ifdef FEW_REGISTERS",
        f"    const mve_pred16_t valid = vctp8q({length});",
        "    for (int32_t i = 0; i < pixels; ++i) {",
        *(
            f"        vstrbq_p_s8(windows + {n * length}, vldrbq_z_s8(x{n} + i * {x_step}, valid), valid);"
            for n in range(rows)
        ),
        f"        windows += {rows * length};",
        "    }",
        "#else",
        "    __asm__ volatile(",
        *(f'        "{line}\\n\\t"' for line in _asm_lines(rows, length, x_step)),
        f'        : [windows] "+r"(windows), {pointers}',
        '        : [pixels] "r"(pixels)',
        '        : "q0", "p0", "lr", "memory");',
        "#endif",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _asm_lines(rows: int, length: int, x_step: int) -> list[str]:
    copies = [line for r in range(rows) for line in _copy(r, length, x_step)]
    lines = [f"mov lr, #{length}", "vctp.8 lr", "dls lr, %[pixels]", "1:"]
    for first in range(0, len(copies), _BLOCK):
        block = copies[first : first + _BLOCK]
        lines += [f"vps{'t' * len(block)}", *block]
    return [*lines, f"add %[windows], #{rows * length}", "le lr, 1b"]


def _copy(row: int, length: int, x_step: int) -> list[str]:
    return [f"vldrbt.8 q0, [%[x{row}]], #{x_step}", f"vstrbt.8 q0, [%[windows], #{row * length}]"]


CHANNELS, PIXELS = 4, 2
_UNROLLED_PAIRS = 3  # of a short row; a loop would cost more than its code saves
_INSTRUCTION_BYTES = 4
_LEAST_VALUES = 32  # of a window; shorter sums are faster with 8-bit weights
_WINDOWS_BYTES = 640  # of thin rows, copied to scratch at a time: 16 windows of 10x4 bytes


@dataclass(frozen=True)
class _ChannelEnds:
    """How a channel's sums, which begin at zero, are stored: requantized, or added to sums in memory."""

    result: Buffer
    tables: tuple[Buffer, ...]
    loads: tuple[Stmt, ...]
    stored: Callable[[Load, Load], Expr]  # of the sum and the result's previous value


def _ends(p: DotProblem, requant: Requant | None) -> _ChannelEnds:
    if requant is None:
        sums = Buffer("sums", DType.I32, p.y_elements, Role.STATE)
        return _ChannelEnds(sums, (), (), lambda total, before: Binary("+", before, total))
    c = channel_constants(exact_store(requant), p.channels, variable("o"))
    y = Buffer("y", p.y_dtype, p.y_elements, Role.OUTPUT)
    return _ChannelEnds(
        y, c.tables, c.loads, lambda total, _: c.stored(Binary("+", total, required(c.start)))
    )


def nest(p: DotProblem, requant: Requant | None) -> Proc:
    """Returns the nest. Sums begin at zero; their start values are added to four of them at once."""
    x = Buffer("x", p.x_dtype, p.x_elements, Role.ROWS, p.kernel_rows)
    ends, column = _ends(p, requant), variable("column")
    pixels = For("column", p.pixels, _pixel(p, ends, x, column * p.x_step + p.x_first, column))
    params = (x, ends.result, _weights(p), *ends.tables)
    return Proc(p.name, params, (For("o", p.channels, (*ends.loads, pixels)),))


def _weights(p: DotProblem) -> Buffer:
    return Buffer("w", DType.I8, p.channels * p.kernel_rows * p.taps * p.length, Role.CONSTANT)


def _pixel(p: DotProblem, ends: _ChannelEnds, x: Buffer, window: Affine, column: Affine) -> tuple[Stmt, ...]:
    """Returns one output of channel o."""
    total = Buffer("sum", p.sum_dtype, 1, Role.LOCAL)
    o, row, tap, k = (variable(v) for v in ("o", "r", "t", "k"))
    depth = p.kernel_rows * p.taps * p.length
    weight = o * depth + row * (p.taps * p.length) + tap * p.length + k
    element = load(x, window + tap * p.tap_step + k, row)
    products = Accumulate(at(total), Binary("*", element, load(_weights(p), weight)))
    place = at(ends.result, column * p.y_pixel_step + o * p.y_channel_step + p.y_first)
    return (
        Declare(total),
        Store(at(total), Const(0)),
        For("r", p.kernel_rows, (For("t", p.taps, (For("k", p.length, (products,)),)),)),
        Store(place, ends.stored(load(total), Load(place))),
    )


def is_thin(p: DotProblem) -> bool:
    """Returns True if the kernel's rows are so short that most lanes would be empty."""
    depth = p.kernel_rows * p.length
    side_by_side = -(-depth // LANES) < p.kernel_rows
    return (
        p.x_dtype is DType.I8
        and p.taps == 1
        and p.length < LANES
        and side_by_side
        and depth <= LONGEST
        and p.kernel_rows <= MOST_ROWS
    )


def nest_of_thin_rows(p: DotProblem, requant: Requant | None) -> Proc:
    """Returns the nest for thin rows, which first copies the windows of some pixels to contiguous memory."""
    x = Buffer("x", p.x_dtype, p.x_elements, Role.ROWS, p.kernel_rows)
    one_row, ends = _one_row(p), _ends(p, requant)

    def block(first: Affine, count: int) -> tuple[Stmt, ...]:
        windows = Buffer("windows", DType.I8, count * one_row.length, Role.LOCAL)
        column = variable("column")
        body = _pixel(one_row, ends, windows, column * one_row.length, first + column)
        return (
            Declare(windows),
            _copied(p, x, windows, first, count),
            For("o", p.channels, (*ends.loads, For("column", count, body))),
        )

    size = _windows_at_a_time(p)
    whole, rest = divmod(p.pixels, size)
    body: tuple[Stmt, ...] = (For("block", whole, block(variable("block") * size, size)),)
    if rest:
        body += (For("last", 1, block(variable("last") + whole * size, rest)),)
    return Proc(p.name, (x, ends.result, _weights(p), *ends.tables), body)


def _windows_at_a_time(p: DotProblem) -> int:
    """Returns the pixels whose windows are in scratch together: parts of a row of about the same size."""
    parts = -(-p.pixels * p.kernel_rows * p.length // _WINDOWS_BYTES)
    return min(p.pixels, -(-p.pixels // parts // PIXELS) * PIXELS)


def _one_row(p: DotProblem) -> DotProblem:
    depth = p.kernel_rows * p.length
    return replace(p, kernel_rows=1, length=depth, x_first=0, x_step=depth, x_elements=1)


def _copied(p: DotProblem, x: Buffer, windows: Buffer, first: Affine, count: int) -> For:
    i, r, k = variable("i"), variable("r"), variable("k")
    copy = Store(
        at(windows, i * (p.kernel_rows * p.length) + r * p.length + k),
        load(x, (first + i) * p.x_step + p.x_first + k, r),
    )
    return For("i", count, (For("r", p.kernel_rows, (For("k", p.length, (copy,)),)),))


def helium_dot(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for pixels of 8 or 16 bits."""
    requant = None if p.tail is None else p.tail.requant
    if requant is not None and (made := _of_four_bits(site, p, requant)) is not None:
        return made
    proc, packing = _scheduled_at(site, p, requant)
    why = f"{_pixels(p)} x {CHANNELS} sums per tile, {8 * p.x_dtype.bytes}-bit rows in place"
    return ScheduledDot("helium", why, proc, packing)


def _pixels(p: DotProblem) -> int:
    """Returns the pixels of a tile. Compilers lack registers for sums of more than one of 16 bits."""
    return PIXELS if p.x_dtype is DType.I8 else 1


def _of_four_bits(site: Site, p: DotProblem, requant: Requant) -> ScheduledDot | None:
    """Returns the strategy for a row or a vector with 4-bit weights, or None."""
    form = form_of(site.constants[1])
    if site.for_any_weights or not _stores_vectors(p, requant) or not form.is_four_bits:
        return None
    for_size, values = site.optimize is Optimize.SIZE, p.kernel_rows * p.taps * p.length
    if (for_size or values >= _LEAST_VALUES) and not is_thin(p):
        if is_row(p, requant, for_size, form):
            return four_bit_rows(p, requant, for_size, form)
        if for_size and is_row(p, requant, False, form):
            saved, row = p.channels * values // 2, row_of(p, requant, CHANNELS, False, form)
            if saved > dot_row(row).machine_instructions * _INSTRUCTION_BYTES:
                return four_bit_rows(p, requant, False, form)
    return four_bit_vector(p, requant, form) if is_vector(p, requant) else None


def _scheduled_at(site: Site, p: DotProblem, requant: Requant | None) -> tuple[Proc, Packing]:
    straight = 0 if site.optimize is Optimize.SIZE else _UNROLLED_PAIRS
    if not is_thin(p):
        return _scheduled(nest(p, requant), p, requant, p.x_aligned, straight)
    size = _windows_at_a_time(p)
    copies = [copy_windows(n, p.kernel_rows, p.length, p.x_step) for n in (size, p.pixels % size) if n]
    proc = tensorize(nest_of_thin_rows(p, requant), "i", copies)
    return _scheduled(proc, _one_row(p), requant, False, straight)


def _scheduled(
    proc: Proc, p: DotProblem, requant: Requant | None, aligned: bool, straight: int
) -> tuple[Proc, Packing]:
    """Schedules the nest; up to `straight` pairs of pixels are unrolled."""
    if requant is not None and _stores_vectors(p, requant):
        row = _row(p, requant, CHANNELS, PIXELS, aligned, straight == 0)
        if p.pixels >= PIXELS and p.channels >= CHANNELS and row.is_in_asm:
            return _in_rows(proc, p, row)
    if requant is not None and straight and _stores_vectors(p, requant) and is_vector(p, requant):
        return _in_blocks(proc, p, requant)
    proc = _tiled(proc, p, requant)
    proc, packing = _packed(proc, p)
    counts = [n for n in (CHANNELS, p.channels % CHANNELS) if n]
    shapes = list(product(range(_pixels(p), 0, -1), counts))
    like = HeliumDotTile(1, 1, p.kernel_rows, p.taps, p.length, p.x_step, p.tap_step, aligned)
    like = replace(like, x_dtype=p.x_dtype, sum_dtype=p.sum_dtype)
    dots = [dot(replace(like, pixels=i, channels=j)) for i, j in shapes]
    is_widened = requant is not None and p.y_dtype is not requant.dtype  # for a reader of 16-bit rows
    if requant is None or is_widened or not fits_vectors(requant):
        return unroll(unroll(tensorize(proc, "xi", dots), "xi"), "oi"), packing
    stores = [
        requantise_tile(RequantTile(i, j, p.y_pixel_step, p.y_channel_step), requant) for i, j in shapes
    ]
    proc = tensorize(proc, "xi", [*dots, *stores])
    if not requant.fits_lanes:  # constants in core registers
        return unroll(proc, "oi"), packing
    loads = [load_channels(n, dtype) for n in counts for dtype in (DType.I32, DType.I8)]
    proc = tensorize(proc, "oi", loads)
    return unroll(proc, "xb") if 1 < p.pixels // _pixels(p) <= straight else proc, packing


def _stores_vectors(p: DotProblem, requant: Requant) -> bool:
    """Returns True if single instructions for rows and for vectors are possible."""
    return requant.fits_lanes and {p.x_dtype, p.y_dtype} == {DType.I8}


def _in_blocks(proc: Proc, p: DotProblem, requant: Requant) -> tuple[Proc, Packing]:
    """Returns blocks of channels, all in one instruction."""
    proc, packing = _packed(_split_depth(in_blocks(proc, p.channels, CHANNELS), p), p)
    blocks = DotBlocks(p.channels // CHANNELS, p.length // LANES, requant)
    return tensorize(proc, "ob", [dot_blocks(blocks)]), packing


def _packed(proc: Proc, p: DotProblem) -> tuple[Proc, Packing]:
    order = ("ob", "ob_rest", "r", "t", "step", "oi", "lane", "k", "k_rest")
    lanes = _lanes(p)
    proc, packing = pack(proc, "w", order, valid=variable("lane"), limit=lanes)
    return proc, Packing(packing.source + (-1,) * (READ_AHEAD if p.length % lanes else 0))


def _lanes(p: DotProblem) -> int:
    return LANES // p.x_dtype.bytes


def _row(p: DotProblem, requant: Requant, channels: int, pixels: int, aligned: bool, small: bool) -> DotRow:
    sums = HeliumDotTile(PIXELS, channels, p.kernel_rows, p.taps, p.length, p.x_step, p.tap_step, aligned)
    ends = RequantTile(PIXELS, channels, p.y_pixel_step, p.y_channel_step)
    return DotRow(sums, ends, pixels, requant, small)


def _in_rows(proc: Proc, p: DotProblem, like: DotRow) -> tuple[Proc, Packing]:
    """Returns blocks of channels, each a row of pixels."""
    proc = privatize(in_blocks(proc, p.channels, CHANNELS), ("start", "scale", "shift"), "oi")
    proc, packing = _packed(_split_depth(reorder(proc, "oi", "column"), p), p)
    extents = _extents(proc, "column")
    fours = [DotRowFours(replace(like, pixels=pixels), p.channels // CHANNELS) for pixels in extents]
    if all(four.fits for four in fours):
        proc = tensorize(proc, "ob", list(map(dot_row_fours, fours)))
        if p.channels % CHANNELS == 0:
            return proc, packing
    counts = [n for n in (CHANNELS, p.channels % CHANNELS) if n]
    rows = [
        _row(p, like.requant, n, pixels, like.sums.x_aligned, like.is_small)
        for n, pixels in product(counts, extents)
    ]
    proc = tensorize(proc, "column", [dot_row(row) for row in rows])
    loads = [load_channels(n, dtype) for n in counts for dtype in (DType.I32, DType.I8)]
    return tensorize(proc, "oi", loads), packing


def _extents(proc: Proc, var: str) -> list[int]:
    return sorted({loop.extent for loop in walk(proc.body) if isinstance(loop, For) and loop.var == var})


def _tiled(proc: Proc, p: DotProblem, requant: Requant | None) -> Proc:
    """Tiles channels, then pairs of pixels: first all sums of a tile, then all its results."""
    proc = in_blocks(proc, p.channels, CHANNELS)
    if requant is not None:
        proc = privatize(proc, ("start", "scale", "shift"), "oi")
    proc = split(reorder(proc, "oi", "column"), "column", _pixels(p), "xb", "xi")
    proc = privatize(privatize(proc, ("sum",), "oi", together=2), ("sum",), "xi")
    return _split_depth(proc, p)


def _split_depth(proc: Proc, p: DotProblem) -> Proc:
    """Splits a tap into whole vectors and a remainder."""
    lanes = _lanes(p)
    whole, rest = p.length // lanes * lanes, p.length % lanes
    if whole and rest:
        return split(partition(proc, "k", whole, "k", "k_rest"), "k", lanes, "step", "lane")
    return split(proc, "k", lanes, "step", "lane") if whole else proc


CONV2D = conv2d_strategy(
    "helium", in_stored_rows(helium_dot, conv_tail), NEEDS, (BYTES_AS_WEIGHTS, ADDS_NOTHING)
)


DENSE = dense_strategy("helium", in_stored_rows(helium_dot, dense_tail), NEEDS, (BYTES_AS_WEIGHTS,))
