"""Helium, depthwise: rows of outputs of all fours of channels, in one function that uses all registers."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.types import DType
from codegen.isa.helium.depthwise import PIXEL, InterleavedRows, by_channel, depthwise_rows, output_sums
from codegen.isa.helium.needs import ANY_WORDS, INCLUDES
from codegen.isa.helium.requantise import WORDS
from codegen.isa.plain.requantise import Requant, exact_store
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    Declare,
    For,
    Instruction,
    Role,
    Stmt,
    Store,
    at,
    load,
)


def depthwise_fours(tile: InterleavedRows, fours: int, requant: Requant) -> Instruction:
    """Applies `depthwise_rows` to each four channels, with their constants from tables."""
    row = depthwise_rows(replace(tile, is_inlined=True), requant)
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    lines = Buffer("lines", DType.I8, 0, Role.SCRATCH)
    w, right = (Buffer(n, DType.I8, 0, Role.CONSTANT) for n in ("w", "right"))
    bias, mult = (Buffer(n, DType.I32, 0, Role.CONSTANT) for n in ("bias", "mult"))
    start, scale, shift = (Buffer(n, DType.I32, WORDS, Role.LOCAL) for n in ("start", "scale", "shift"))
    four, i = variable("four"), variable("i")

    def output(j: Affine, number: int | None) -> For:
        total = Buffer("total", DType.I32, 1, Role.LOCAL)
        given = (Binary("+", load(total), load(start, j)), load(scale, j), load(shift, j))
        place = at(y, i * tile.y_step + (four * WORDS + j) * tile.y_channel_step)
        sums = output_sums(tile, at(total), (lines, w), (j, four), number)
        stored = Store(place, Apply(exact_store(requant).store, given))
        return For("i", tile.outputs, (Declare(total), *sums, stored))

    j = variable("j")
    tables = ((start, bias), (scale, mult), (shift, right))
    body: tuple[Stmt, ...] = (
        *(Declare(buffer) for buffer, _ in tables),
        *(
            For("j", WORDS, (Store(at(buffer, j), load(table, four * WORDS + j)),))
            for buffer, table in tables
        ),
        *by_channel(tile, output),
    )
    name = f"{row.name}_by_{fours}_fours"
    return Instruction(
        name=name,
        params=(y, lines, w, bias, mult, right),
        body=(For("four", fours, body),),
        call=f"{name}({{y}}, {{lines}}, {{w}}, {{bias}}, {{mult}}, {{right}});",
        definition=_definition(name, tile, fours, row.name, requant.said),
        includes=INCLUDES,
        needs=ANY_WORDS,
        machine_instructions=row.machine_instructions,
        is_inline=False,
        calls=(row,),
    )


def _definition(name: str, tile: InterleavedRows, fours: int, row: str, said: str) -> str:
    steps = {
        "y": WORDS * tile.y_channel_step,
        "lines": WORDS * tile.pitch * PIXEL,
        "w": tile.weight_bytes,
        **dict.fromkeys(("bias", "mult", "right"), WORDS),
    }
    lines = [
        f"/* Rows of {tile.outputs} outputs of {fours} times four channels:",
        f"   {tile.said}; {said}. */",
        f"static __attribute__((noinline)) void {name}(",
        "    int8_t *y, const int8_t *lines, const int8_t *w,",
        "    const int32_t *bias, const int32_t *mult, const int8_t *right)",
        "{",
        f"    for (int32_t four = 0; four < {fours}; ++four) {{",
        f"        {row}(",
        "            y, lines, w, vldrwq_s32(bias), vldrwq_s32(mult), vldrbq_s32(right));",
        *(f"        {pointer} += {step};" for pointer, step in steps.items()),
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"
