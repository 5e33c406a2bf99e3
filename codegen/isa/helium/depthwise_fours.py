"""Helium, depthwise: rows of outputs of all fours of channels, in one function that uses all registers.

A short row is only a few outputs, so that its constants and its last result would take as long. Therefore one
statement computes all fours, and overlaps the last output of each with the constants of the next:

    constants, the sums of the first output
    for the next fours: [this four's outputs | the next four's constants and first sums]
    the last four's outputs
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aot.ir.types import DType
from codegen.isa.asm import (
    FEW_REGISTERS,
    Address,
    AsmLine,
    computes,
    in_order,
    loads,
    operand,
    predicate,
    stays,
)
from codegen.isa.helium import ANY_WORDS, INCLUDES
from codegen.isa.helium.depthwise import PIXEL, InterleavedRows, by_channel, depthwise_rows, output_sums
from codegen.isa.helium.pipeline import WITH_ENDS
from codegen.isa.helium.requantise import WORDS, halves_moved, scaled, to_ones, turned
from codegen.isa.helium.row_lines import stored_channels, to_bytes, to_halves
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

_TAPS, _X, _V, _SCALE, _SHIFT = ("q0", "q1", "q2", "q3"), "q4", "q5", "q6", "q7"
_SUMS = tuple(operand(f"s{j}") for j in range(WORDS))
_MOST_ADDED = 4095  # bytes, by one instruction
_REACH = 127  # bytes, of a load of bytes
_STACK_BYTES = 32  # of pointers that the statement leaves no registers


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
    lines_of_all = FoursLines(tile, requant)
    at_once = lines_of_all.fits
    name = f"{row.name}_by_fours{'_at_once' if at_once else ''}"
    return Instruction(
        name=name,
        params=(y, lines, w, bias, mult, right),
        body=(For("four", fours, body),),
        call=f"{name}({{y}}, {{lines}}, {{w}}, {{bias}}, {{mult}}, {{right}}, {{fours}});",
        definition=_definition(name, lines_of_all, row.name, at_once),
        numbers=(("fours", fours),),
        includes=INCLUDES,
        needs=ANY_WORDS,
        machine_instructions=len(lines_of_all.lines()) if at_once else row.machine_instructions,
        stack_bytes=_STACK_BYTES if at_once else 0,
        is_inline=False,
        is_asm=at_once,
        calls=(FEW_REGISTERS, row),
    )


def _definition(name: str, of_all: FoursLines, row: str, at_once: bool) -> str:
    tile = of_all.tile
    steps = {
        "y": WORDS * tile.y_channel_step,
        "lines": WORDS * tile.pitch * PIXEL,
        "w": tile.weight_bytes,
        **dict.fromkeys(("bias", "mult", "right"), WORDS),
    }
    each = [
        "    for (int32_t four = 0; four < fours; ++four) {",
        f"        {row}(",
        "            y, lines, w, vldrwq_s32(bias), vldrwq_s32(mult), vldrbq_s32(right));",
        *(f"        {pointer} += {step};" for pointer, step in steps.items()),
        "    }",
    ]
    if at_once:
        why = "/* compilers find even registers for intrinsics */"
        each = [f"#ifdef FEW_REGISTERS {why}", *each, "#else", *of_all.statement(), "#endif"]
    lines = [
        f"/* Rows of {tile.outputs} outputs of several times four channels:",
        f"   {tile.said}; {of_all.requant.said}. */",
        f"static __attribute__((noinline)) void {name}(",
        "    int8_t *y, const int8_t *lines, const int8_t *w,",
        "    const int32_t *bias, const int32_t *mult, const int8_t *right, int32_t fours)",
        "{",
        *each,
        "}",
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class FoursLines:
    """The statement of short rows of all fours of channels."""

    tile: InterleavedRows
    requant: Requant

    @property
    def fits(self) -> bool:
        """Returns True if one statement can compute all fours."""
        tile = self.tile
        return (
            tile.is_written_out
            and tile.is_padded
            and not tile.form.is_four_bits
            and tile.y_channel_step == 1
            and self.requant.rights[0] >= 1
            and tile.pitch * PIXEL <= _REACH
            and max(self._plane_bytes, self._row_bytes) <= _MOST_ADDED
        )

    @property
    def _plane_bytes(self) -> int:
        """Returns the bytes of four channels' pixels."""
        return WORDS * self.tile.pitch * PIXEL

    @property
    def _row_bytes(self) -> int:
        """Returns the bytes of a row of results up to its last pixel."""
        return (self.tile.outputs - 1) * self.tile.y_step

    def statement(self) -> list[str]:
        every = range(WORDS)
        low, any_register = ("y", "right"), ("x0", "x2", "w", "bias", "mult")
        outputs = [
            ", ".join(f'[s{j}] "=&Te"(s{j})' for j in every),
            ", ".join(f'[{n}] "+l"({n})' for n in low),
            ", ".join(f'[{n}] "+r"({n})' for n in any_register),
        ]
        zero = self.requant.zero_point
        inputs = ['[turns] "m"(turns)', *([f'[zero] "r"({zero})'] if zero else [])]
        clobbered = ", ".join(f'"q{n}"' for n in range(8))
        return [
            "    const int32_t turns = fours - 1;",
            "    const int8_t *x0 = lines;",
            f"    const int8_t *x2 = lines + {self._plane_bytes // 2};",
            f"    int32_t {', '.join(f's{j}' for j in every)};",
            "    __asm__ volatile(",
            *(f'        "{line.text}\\n\\t"' for line in self.lines()),
            *(f"        {':' if n == 0 else ' '} {text}{',' * (n < 2)}" for n, text in enumerate(outputs)),
            f"        : {', '.join(inputs)}",
            f'        : {clobbered}, "lr", "memory", "cc");',
        ]

    def lines(self) -> list[AsmLine]:
        """Returns the instructions of the statement."""
        first = [*self._constants(), *self._sums(()), *_into_vector()]
        ends = [*self._rounded(is_last=True), *self._stored(is_last=True)]
        return [
            stays(f"mov lr, #{self.tile.columns * PIXEL}"),
            stays("vctp.8 lr"),
            *in_order(first, *WITH_ENDS),
            stays("ldr lr, %[turns]"),
            stays("wls lr, lr, 2f"),
            stays("1:"),
            *in_order([*self._next_outputs(), *ends, *first], *WITH_ENDS),
            stays("le lr, 1b"),
            stays("2:"),
            *in_order([*self._next_outputs(), *ends], *WITH_ENDS),
        ]

    def _constants(self) -> Iterator[AsmLine]:
        """Yields the loads of a four's weights and scales; the start values of its sums are loaded later."""
        for first in range(0, WORDS, 2):
            yield predicate("vpstt", 2)
            for taps in _TAPS[first : first + 2]:
                yield loads("vldrbt.8", (taps,), Address(operand("w"), self.tile.columns * PIXEL, moves=True))
        yield loads("vldrb.s32", (_SHIFT,), Address(operand("right"), WORDS, moves=True))
        yield turned(self.requant, _SHIFT)
        yield loads("vldrw.32", (_SCALE,), Address(operand("mult"), 4 * WORDS, moves=True))
        yield from to_ones(self.requant, _SCALE)

    def _next_outputs(self) -> Iterator[AsmLine]:
        """Yields the sums of all outputs but the first, and the results of those before them."""
        for n in range(1, self.tile.outputs):
            yield from self._sums(list(self._rounded()), is_last=n == self.tile.outputs - 1)
            yield from self._stored()
            yield from _into_vector()

    def _sums(self, between: list[AsmLine] | tuple[()], is_last: bool = False) -> Iterator[AsmLine]:
        """Yields a sum per channel, with the lines `between` inserted, which may use the pixels' vector."""
        tile = self.tile
        step, plane = tile.stride * PIXEL, tile.pitch * PIXEL
        if tile.outputs == 1 or is_last:
            step = self._plane_bytes - (tile.outputs - 1) * step  # to the next four
        for j in (1, 0, 3, 2):
            if j == 3:
                yield from between
            pointer = operand(f"x{j // 2 * 2}")
            if j % 2:
                yield loads("vldrb.8", (_X,), Address(pointer, plane))
            elif step <= _REACH:
                yield loads("vldrb.8", (_X,), Address(pointer, step, moves=True))
            else:
                yield loads("vldrb.8", (_X,), Address(pointer))
                yield computes("add", pointer, pointer, end=f"#{step}")
            yield computes("vmladav.s8", _SUMS[j], _X, _TAPS[j])

    def _rounded(self, is_last: bool = False) -> Iterator[AsmLine]:
        start = Address(operand("bias"), 4 * WORDS if is_last else None, moves=is_last)
        yield loads("vldrw.32", (_X,), start)
        yield computes("vadd.i32", _V, _V, _X)
        yield from scaled(self.requant, _V, _SCALE)
        yield from halves_moved(self.requant, _V, _SCALE, _SHIFT, _X)
        yield computes("vrshl.s32", _V, _V, _SHIFT)

    def _stored(self, is_last: bool = False) -> Iterator[AsmLine]:
        y = operand("y")
        yield from to_halves(_V, self.requant)
        yield from to_bytes(_V, self.requant, _X, operand("zero"))
        if is_last:
            yield AsmLine("vstrb.32", f"vstrb.32 {_V}, [{y}]", (), (y, _V))
            back = self._row_bytes - WORDS
            yield computes("sub" if back >= 0 else "add", y, y, end=f"#{abs(back)}")
        else:
            yield from stored_channels(_V, y, self.tile.y_step)


def _into_vector() -> Iterator[AsmLine]:
    a, b, c, d = _SUMS
    yield AsmLine("vmov", f"vmov {_V}[2], {_V}[0], {a}, {c}", (_V,), (a, c))
    yield AsmLine("vmov", f"vmov {_V}[3], {_V}[1], {b}, {d}", (_V,), (_V, b, d))
