"""Helium, one vector by blocks of four channels: requantizes one block while it sums the next.

Each weight is loaded for one product, so loads are the bottleneck. The vector's first bytes stay in
registers. The constants of four channels are loaded as vectors after their sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aot.ir.types import DType
from codegen.isa.asm import (
    FEW_REGISTERS,
    Address,
    AsmLine,
    adds_to,
    computes,
    in_order,
    loads,
    operand,
    stays,
)
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.dots import LANES, HeliumDotTile, dot, four_bit_window
from codegen.isa.helium.four_bits import DIGITS, SHIFT, WeightForm
from codegen.isa.helium.pipeline import WITH_ENDS
from codegen.isa.helium.requantise import (
    WORDS,
    RequantTile,
    high_product,
    requantise_tile,
    suffix,
)
from codegen.isa.helium.row_lines import of_channels, stored_channels, to_bytes, to_halves
from codegen.isa.plain.requantise import Requant, exact_store
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Const,
    Declare,
    For,
    Instruction,
    Role,
    Stmt,
    Store,
    at,
    load,
)

MOST_STEPS = 40  # of sixteen products, unrolled
_X, _W = "q0", "q1"
SUMS, FREE = "q2", "q3"  # four channels' sums, a lane each, and a register for what is done with them
_KEPT = ("q4", "q5", "q6", "q7")  # the vector's first bytes
_W_OF_JOINED = (_W, "q7")  # alternating, since each is overwritten while the next one is loaded
_ABOVE = "q7"  # the upper halves of bytes
_TOTALS = tuple(operand(f"s{j}") for j in range(WORDS))


@dataclass(frozen=True, slots=True)
class BlockSums:
    """The sums of blocks of four channels. What becomes of them is up to the statement that has them."""

    blocks: int
    steps: int  # of sixteen bytes
    form: WeightForm = WeightForm.BYTES

    @property
    def name(self) -> str:
        return f"vector_of_{self.steps * LANES}_by_{self.blocks}_blocks"

    @property
    def tile(self) -> HeliumDotTile:
        """Returns the sums of a block."""
        return HeliumDotTile(1, WORDS, 1, 1, self.steps * LANES, 0, 0, x_aligned=False, form=self.form)

    @property
    def kept(self) -> tuple[str, ...]:
        """Returns the registers of the vector's first bytes."""
        return _KEPT if self.form is WeightForm.BYTES else _KEPT[:-1]

    @property
    def block_bytes(self) -> int:
        """Returns the bytes of four channels' weights."""
        return self.form.vectors(WORDS) * self.steps * LANES


@dataclass(frozen=True, slots=True)
class DotBlocks:
    blocks: int
    steps: int  # of sixteen bytes
    requant: Requant
    form: WeightForm = WeightForm.BYTES

    @property
    def sums(self) -> BlockSums:
        return BlockSums(self.blocks, self.steps, self.form)

    @property
    def name(self) -> str:
        return f"{self.sums.name}_{suffix(self.requant)}{self.form.value}"


def dot_blocks(tile: DotBlocks) -> Instruction:
    """y[b * 4 + j] = stored(bias[b * 4 + j] + sum over n of x[n] * w[b][n // 16][j][n % 16])."""
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    x = Buffer("x", DType.I8, 0, Role.ROWS)
    w, right = (Buffer(n, DType.I8, 0, Role.CONSTANT) for n in ("w", "right"))
    bias, mult = (Buffer(n, DType.I32, 0, Role.CONSTANT) for n in ("bias", "mult"))
    b, j = variable("b"), variable("j")
    if tile.form.is_four_bits:
        fours: tuple[Stmt, ...] = tuple(
            For(f"j{c}", 1, _channel(tile, b * WORDS + c, (y, x, w), (bias, mult, right), c))
            for c in range(WORDS)
        )
    else:
        fours = (For("j", WORDS, _channel(tile, b * WORDS + j, (y, x, w), (bias, mult, right), None)),)
    return Instruction(
        name=tile.name,
        params=(y, x, w, bias, mult, right),
        body=(For("b", tile.blocks, fours),),
        call=f"{tile.name}({{y}}, {{x[0]}}, {{w}}, {{bias}}, {{mult}}, {{right}});",
        definition=_definition(tile),
        includes=INCLUDES,
        calls=(FEW_REGISTERS, *_parts(tile)),
        needs=NEEDS,
        machine_instructions=len(_asm_lines(tile)),
        is_asm=True,
    )


def _channel(
    tile: DotBlocks,
    channel: Affine,
    memory: tuple[Buffer, Buffer, Buffer],
    tables: tuple[Buffer, Buffer, Buffer],
    number: int | None,
) -> tuple[Stmt, ...]:
    """Returns a channel's result; `number` is its position in its block if weights have four bits."""
    (y, x, w), (bias, mult, right) = memory, tables
    start, scale, shift, total = (Buffer(n, DType.I32, 1, Role.LOCAL) for n in ("a", "b", "c", "sum"))
    b, j, n, lane = (variable(v) for v in ("b", "j", "n", "lane"))
    constants = [
        s
        for buffer, table in ((start, bias), (scale, mult), (shift, right))
        for s in (Declare(buffer), Store(at(buffer), load(table, channel)))
    ]
    if number is None:
        weight = ((b * tile.steps + n) * WORDS + j) * LANES + lane
        product = Accumulate(at(total), Binary("*", load(x, n * LANES + lane), load(w, weight)))
        window = For("r", 1, (For("t", 1, (For("n", tile.steps, (For("lane", LANES, (product,)),)),)),))
    else:
        first = b * tile.sums.block_bytes
        window = four_bit_window(tile.sums.tile, at(total), (x, w, w), (number, Affine()), first)
    given = (Binary("+", load(total), load(start)), load(scale), load(shift))
    one = (
        Declare(total),
        Store(at(total), Const(0)),
        window,
        Store(at(y, channel), Apply(exact_store(tile.requant).store, given)),
    )
    return (*constants, For("i", 1, one))


def _parts(tile: DotBlocks) -> tuple[Instruction, Instruction]:
    """Returns the instructions of a block."""
    return dot(tile.sums.tile), requantise_tile(RequantTile(1, WORDS, 0, 1), tile.requant)


@lru_cache(maxsize=64)
def _definition(tile: DotBlocks) -> str:
    sums, ends = (part.name for part in _parts(tile))
    totals = [f"s{j}" for j in range(WORDS)]
    pointers = ["x", "w", "y", "bias", "mult", "right"]
    moved = ", ".join(f'[{n}] "+{"l" if n in ("y", "right") else "r"}"({n})' for n in pointers)
    clobbered = ", ".join(f'"q{n}"' for n in range(8))
    lines = [
        f"/* A vector of {tile.steps * LANES} by {tile.blocks} blocks of 4 channels, summed and stored. */",
        f"static inline void {tile.name}(",
        "    int8_t *y, const int8_t *x, const int8_t *w,",
        "    const int32_t *bias, const int32_t *mult, const int8_t *right)",
        "{",
        f"    int32_t {', '.join(totals)};",
        "#ifdef FEW_REGISTERS /* compilers find even registers for intrinsics */",
        f"    for (int32_t i = 0; i < {tile.blocks * WORDS}; i += {WORDS}) {{",
        f"        {sums}({', '.join(f'&{t}' for t in totals)}, x, w + i * {tile.sums.block_bytes // WORDS});",
        f"        {ends}(y + i, {', '.join(totals)},",
        "            vldrwq_s32(bias + i), vldrwq_s32(mult + i), vldrbq_s32(right + i));",
        "    }",
        "#else",
        "    __asm__ volatile(",
        *(f'        "{line.text}\\n\\t"' for line in _asm_lines(tile)),
        f"        : {', '.join(f'[{t}] {chr(34)}=&Te{chr(34)}({t})' for t in totals)},",
        f"          {moved}",
        "        :",
        f'        : {clobbered}, "lr", "memory", "cc");',
        "#endif",
        "}",
    ]
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=64)
def _asm_lines(tile: DotBlocks) -> tuple[AsmLine, ...]:
    return summed_blocks(tile.sums, tuple(_ends(tile)))


@lru_cache(maxsize=64)
def summed_blocks(sums: BlockSums, ends: tuple[AsmLine, ...]) -> tuple[AsmLine, ...]:
    """Returns the instructions of all blocks. `ends` stores a block's sums, given as lanes of a vector."""
    return tuple(_lines(sums, list(ends)))


def _lines(tile: BlockSums, ends: list[AsmLine]) -> Iterator[AsmLine]:
    moved = list(_into_vector(tile))
    yield from _first_sums(tile)
    yield from in_order([*_back(tile), *moved], *WITH_ENDS)
    if tile.blocks > 1:
        steps = [line for n in range(tile.steps) for line in _step(tile, n, n == 0)]
        yield from _counted(tile.blocks - 1, [*ends, *steps, *_back(tile), *moved])
    yield from in_order(ends, *WITH_ENDS)


def _counted(turns: int, body: list[AsmLine]) -> Iterator[AsmLine]:
    yield from (stays(f"mov lr, #{turns}"), stays("dls lr, lr"), stays("1:"))
    yield from in_order(body, *WITH_ENDS)
    yield stays("le lr, 1b")


def _first_sums(tile: BlockSums) -> Iterator[AsmLine]:
    """Yields the loads of the vector's first bytes, and the sums of the first block, without overlap."""
    kept = min(tile.steps, len(tile.kept))
    lines = [loads("vldrb.8", (q,), Address(operand("x"), LANES, moves=True)) for q in tile.kept[:kept]]
    yield from in_order([*lines, *(line for n in range(kept) for line in _step(tile, n, n == 0))], *WITH_ENDS)
    if tile.steps > kept:
        yield from _counted(tile.steps - kept, list(_step(tile, kept, is_first=False)))


def _step(tile: BlockSums, n: int, is_first: bool) -> Iterator[AsmLine]:
    x = tile.kept[n] if n < len(tile.kept) else _X
    if x == _X:
        yield loads("vldrb.8", (_X,), Address(operand("x"), LANES, moves=True))
    for channel, total in enumerate(_TOTALS):
        w = _W_OF_JOINED[channel // DIGITS] if tile.form is WeightForm.JOINED else _W
        if tile.form.is_four_bits and channel % DIGITS:
            yield computes("vshl.i8", w, w, end=f"#{SHIFT}")
        else:
            yield loads("vldrb.8", (w,), Address(operand("w"), LANES, moves=True))
        if tile.form is WeightForm.NIBBLES and channel % DIGITS == 0:
            yield computes("vshr.s8", _ABOVE, w, end=f"#{SHIFT}")
            w = _ABOVE
        if is_first:
            yield computes("vmladav.s8", total, x, w)
        else:
            yield adds_to("vmladava.s8", total, x, w)


def _back(tile: BlockSums) -> Iterator[AsmLine]:
    behind = (tile.steps - len(tile.kept)) * LANES
    if behind > 0:
        yield computes("sub", operand("x"), operand("x"), end=f"#{behind}")


def _into_vector(tile: BlockSums) -> Iterator[AsmLine]:
    yield from of_channels(tile.form, _TOTALS)
    a, b, c, d = _TOTALS
    yield AsmLine("vmov", f"vmov {SUMS}[2], {SUMS}[0], {a}, {c}", (SUMS,), (a, c))
    yield AsmLine("vmov", f"vmov {SUMS}[3], {SUMS}[1], {b}, {d}", (SUMS,), (SUMS, b, d))


def _ends(tile: DotBlocks) -> Iterator[AsmLine]:
    r = tile.requant
    if tile.form is WeightForm.JOINED:
        yield computes("vshr.s32", SUMS, SUMS, end=f"#{SHIFT}")
    yield loads("vldrw.32", (FREE,), Address(operand("bias"), 4 * WORDS, moves=True))
    yield computes("vadd.i32", SUMS, SUMS, FREE)
    yield loads("vldrw.32", (FREE,), Address(operand("mult"), 4 * WORDS, moves=True))
    yield computes(f"{high_product(r)}.s32", SUMS, SUMS, FREE)
    if r.sign_matters:
        yield computes("vshr.s32", FREE, SUMS, end="#31")
        yield computes("vadd.i32", SUMS, SUMS, FREE)
    yield loads("vldrb.s32", (FREE,), Address(operand("right"), WORDS, moves=True))
    yield computes("vneg.s32", FREE, FREE)
    yield computes("vrshl.s32", SUMS, SUMS, FREE)
    yield from to_halves(SUMS, r)
    yield from to_bytes(SUMS, r, FREE)
    yield from stored_channels(SUMS, operand("y"), WORDS)
