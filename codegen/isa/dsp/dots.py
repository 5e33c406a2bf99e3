"""Cortex-M DSP extension: SMLAD adds two 16-bit products; SXTB16 widens two of four bytes.

Weights have 8 bits in flash and are widened in registers. SXTB16 widens bytes 0 and 2, with a rotation bytes
1 and 3. If only one factor has 16 bits in memory, weights are therefore stored in the order 0 2 1 3, so that
the pairs match. The inner step is inline assembly, because no compiler merges the rotation into SXTB16 or
uses the post-incremented LDRD.

`dot_rows` is the same over several short rows, unrolled one after the other: if a kernel row has only a few
groups of four, starting it costs as much as computing it. The weights of all rows are contiguous, so their
pointer advances through all of them.
"""

from __future__ import annotations

from functools import lru_cache

from aot.ir.types import DType
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.dsp.dot_tile import (
    SmladDotTile,
    dot_text,
    instructions_of,
    name_in_c,
    registers_of,
    takes_all_registers,
    text_in_c,
)
from codegen.isa.dsp.needs import needs_of
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Buffer, For, Instruction, Role, ScalarFunction, Stmt, at, load


@lru_cache(maxsize=256)  # layers share tiles, and tiles share parts
def dot(tile: SmladDotTile) -> Instruction:
    """sums[i][j] += sum over k of x[i * pixel_step + k] * w[k][j], four k at a time."""
    sums = Buffer("sums", DType.I32, tile.pixels * tile.channels, Role.LOCAL)
    x = Buffer("x", tile.x_dtype, 0, Role.INPUT)
    w = Buffer("w", tile.w_dtype, 0, Role.CONSTANT)
    every = ", ".join(f"&{{sums[{i}]}}" for i in range(sums.elements))
    numbers = "".join(f", {{{name}}}" for name, _ in tile.numbers)
    return Instruction(
        name=tile.name,
        params=(sums, x, w),
        body=_meaning(tile, sums, x, w),
        call=f"{tile.name}({every}, {{x}}, {{w}}{numbers});",
        definition=dot_text(tile),
        numbers=tile.numbers,
        calls=_called(tile),
        needs=needs_of(tile.x_aligned),
        machine_instructions=instructions_of(tile),
        is_asm=True,
        own_registers=registers_of(tile),
    )


def _called(tile: SmladDotTile) -> tuple[Instruction | ScalarFunction, ...]:
    """Returns the C functions that it falls back to if there are few registers."""
    return (_in_c(tile),) if takes_all_registers(tile) else ()


def _in_c(tile: SmladDotTile) -> Instruction:
    return Instruction(
        name_in_c(tile),
        (),
        (),
        "",
        text_in_c(tile),
        includes=("arm_acle.h",),
        calls=(FEW_REGISTERS, WORDS, *((ODD_BYTES,) if DType.I8 in (tile.x_dtype, tile.w_dtype) else ())),
        needs=needs_of(tile.x_aligned),
    )


WORDS = ScalarFunction(
    "aligned_word",
    DType.I32,
    """\
/* The word at any address, and at one that words have. */
static inline int32_t word_at(const void *place)
{
    int32_t word;
    memcpy(&word, place, sizeof word);
    return word;
}

static inline int32_t aligned_word(const void *place)
{
    return word_at(__builtin_assume_aligned(place, 4));
}
""",
    lambda *_: 0,
    includes=("string.h",),
)
ODD_BYTES = ScalarFunction(
    "odd_bytes",
    DType.I32,
    """\
/* Bytes 1 and 3 of a word, widened: __sxtb16, which takes 0 and 2, has no rotation. */
static inline int32_t odd_bytes(int32_t word)
{
    int32_t result;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(word));
    return result;
}
""",
    lambda *_: 0,
)


def _meaning(tile: SmladDotTile, sums: Buffer, x: Buffer, w: Buffer) -> tuple[Stmt, ...]:
    n, i, j = variable("n"), variable("i"), variable("j")
    total = at(sums, i * tile.channels + j)
    group = n * 4 * tile.channels + j * 4
    if tile.pairs_cross:
        high, low = variable("high"), variable("low")
        product = load(x, i * tile.pixel_step + n * 4 + high * 2 + low) * load(w, group + low * 2 + high)
        inner: Stmt = For("high", 2, (For("low", 2, (Accumulate(total, product),)),))
    else:
        k = variable("k")
        product = load(x, i * tile.pixel_step + n * 4 + k) * load(w, group + k)
        inner = For("k", 4, (Accumulate(total, product),))
    return (For("n", tile.steps, (For("i", tile.pixels, (For("j", tile.channels, (inner,)),)),)),)


def dot_rows(tile: SmladDotTile, rows: int) -> Instruction:
    """sums[i][j] += sum over r, k of x[r][i * pixel_step + k] * w[r][k][j], four k at a time."""
    sums = Buffer("sums", DType.I32, tile.pixels * tile.channels, Role.LOCAL)
    x = Buffer("x", tile.x_dtype, 0, Role.ROWS, rows)
    w = Buffer("w", tile.w_dtype, 0, Role.CONSTANT)
    one_row = dot(tile)
    every = ", ".join(f"&{{sums[{i}]}}" for i in range(sums.elements))
    name = f"{tile.name}_{rows}_rows"
    return Instruction(
        name=name,
        params=(sums, x, w),
        body=_meaning_of_rows(tile, rows, sums, x, w),
        call=f"{name}({every}, {{x_array}}, {{x_offset}}, {{w}});",
        definition=_definition_of_rows(tile, rows, name),
        calls=(one_row,),
        needs=needs_of(tile.x_aligned),
        machine_instructions=one_row.machine_instructions * rows,
    )


def _meaning_of_rows(tile: SmladDotTile, rows: int, sums: Buffer, x: Buffer, w: Buffer) -> tuple[Stmt, ...]:
    r, n, i, j = (variable(v) for v in ("r", "n", "i", "j"))
    total = at(sums, i * tile.channels + j)
    weight = (r * tile.steps + n) * (4 * tile.channels) + j * 4
    pixel = i * tile.pixel_step + n * 4
    inner: Stmt
    if tile.pairs_cross:
        high, low = variable("high"), variable("low")
        product = load(x, pixel + high * 2 + low, r) * load(w, weight + low * 2 + high)
        inner = For("high", 2, (For("low", 2, (Accumulate(total, product),)),))
    else:
        k = variable("k")
        product = load(x, pixel + k, r) * load(w, weight + k)
        inner = For("k", 4, (Accumulate(total, product),))
    groups = For("n", tile.steps, (For("i", tile.pixels, (For("j", tile.channels, (inner,)),)),))
    return (For("r", rows, (For("t", 1, (groups,)),)),)


def _definition_of_rows(tile: SmladDotTile, rows: int, name: str) -> str:
    sums = [f"sum{i}{j}" for i in range(tile.pixels) for j in range(tile.channels)]
    given = ", ".join(f"int32_t *{s}" for s in sums)
    numbers = "".join(f", {number}" for _, number in tile.numbers)
    calls = [f"    w = {tile.name}({', '.join(sums)}, x[{r}] + offset, w{numbers});" for r in range(rows)]
    calls[-1] = calls[-1].replace("w = ", "", 1)
    return "\n".join(
        [
            f"/* The same over {rows} rows. */",
            f"static inline __attribute__((always_inline)) void {name}(",
            f"    {given},",
            f"    const {tile.x_dtype.c_name} *const *x, int32_t offset, const {tile.w_dtype.c_name} *w)",
            "{",
            *calls,
            "}",
            "",
        ]
    )
