"""Cortex-M DSP extension: dot products over several short rows, unrolled one after the other.

If a kernel row has only a few groups of four, starting it costs as much as computing it. The weights of all
rows are contiguous, so their pointer advances through all of them.
"""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.dsp.dot_tile import SmladDotTile
from codegen.isa.dsp.dots import dot
from codegen.isa.dsp.needs import needs_of
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Buffer, For, Instruction, Role, Stmt, at, load


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
        body=_meaning(tile, rows, sums, x, w),
        call=f"{name}({every}, {{x_array}}, {{x_offset}}, {{w}});",
        definition=_definition(tile, rows, name),
        calls=(one_row,),
        needs=needs_of(tile.x_aligned),
        machine_instructions=one_row.machine_instructions * rows,
    )


def _meaning(tile: SmladDotTile, rows: int, sums: Buffer, x: Buffer, w: Buffer) -> tuple[Stmt, ...]:
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


def _definition(tile: SmladDotTile, rows: int, name: str) -> str:
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
