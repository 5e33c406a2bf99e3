"""Helium, a row of tiles of sums for all fours of channels, in one statement.

The last tile of a four is requantized during the first sums of the next one, whose constants are loaded then:

    for all fours: [the previous four's last tile to bytes | the first tile's sums], moved into vectors
        the other tiles, as in `dot_row`
    the last four's last tile to bytes

The first four has no previous one: arbitrary bytes are stored where its first results will be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aot.ir.types import DType
from codegen.isa.asm import FEW_REGISTERS, Address, AsmLine, computes, loads, operand, stays
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.dot_row import DotRow, ordered, pinned, row_meaning, stored_places, tile_by_tile
from codegen.isa.helium.dots import LANES
from codegen.isa.helium.requantise import WORDS, to_ones, turned
from codegen.isa.helium.row_lines import PIXELS, SUMS, RowEnds, RowSums
from codegen.loops.affine import variable
from codegen.loops.ir import (
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

# All odd ones, the low ones first: only they have loads that widen bytes and stores that narrow words.
_REGISTERS = ("r5", "r7", "r1", "r3", "r9", "r11")
_MOST_ADDED = 4095  # bytes, by one instruction
_CONSTANTS = ("q4", "q5", "q6")  # of a four: starts of sums, scales, shifts
_TABLES = ("mult", "bias")  # of start values and scales
_EVERY = tuple(total for sums in SUMS for total in sums)


@dataclass(frozen=True, slots=True)
class DotRowFours:
    """A row of pixels by `fours` times four channels."""

    row: DotRow
    fours: int

    @property
    def name(self) -> str:
        return f"{self.row.name}_by_{self.fours}_fours"

    @property
    def fits(self) -> bool:
        """Returns True if one statement can compute all fours."""
        row = self.row
        in_reach = max(self._x_bytes, *self._weight_bytes, abs(self._y_bytes)) <= _MOST_ADDED
        has_registers = len(self._pointers) <= len(_REGISTERS)
        is_long = row.pixels > PIXELS and self.fours > 1
        is_one_pair = row.pixels // PIXELS == 1  # then no tile is written twice
        is_short = row.overlaps or (is_one_pair and not row.is_small)
        is_possible = row.is_in_asm and not row.sums.form.is_four_bits and in_reach and has_registers
        return is_long and is_short and is_possible

    @property
    def _x_bytes(self) -> int:
        """Returns the bytes back to the row's first pixel; after a single pixel, from its last load."""
        t, lone = self.row.sums, self.row.pixels % PIXELS
        return (self.row.pixels - lone) * t.x_step + lone * (-(-t.length // LANES) - 1) * LANES

    @property
    def _weight_bytes(self) -> tuple[int, int]:
        """Returns the bytes of four channels' weights: whole vectors, and remainders."""
        t = self.row.sums
        each = t.kernel_rows * t.taps * WORDS
        return each * t.steps * LANES, each * t.rest

    @property
    def _y_bytes(self) -> int:
        """Returns the bytes from the results of a four's last tile to the next four's first ones."""
        ends = self.row.ends
        return WORDS * ends.channel_step - (self.row.pixels - self._last) * ends.pixel_step

    @property
    def _last(self) -> int:
        """Returns the pixels of the last tile."""
        return self.row.pixels % PIXELS or PIXELS

    @property
    def _is_scattered(self) -> bool:
        return self.row.ends.channel_step != 1

    @property
    def _pointers(self) -> dict[str, tuple[str, str]]:
        """Returns the pointers in registers. Tables without one take turns in a register."""
        found = {"right": ("const int8_t", "shifts"), **pinned(self.row)}
        if not self._is_scattered:
            found.pop("ends", None)
        free = len(_REGISTERS) - len(found)
        if free < len(_TABLES) and not self._is_scattered:
            return {**found, "table": ("const int32_t", "bias")}
        return found | {name: ("const int32_t", name) for name in _TABLES[: max(0, free)]}

    @property
    def _in_memory(self) -> list[str]:
        """Returns the tables whose pointers are in memory."""
        return [name for name in _TABLES if name not in self._pointers]

    @property
    def _kept(self) -> list[str]:
        """Returns the values in memory that the statement sets first."""
        return ["fours", "next", *(["turns"] if self._counts_in_memory else [])]

    @property
    def _counts_in_memory(self) -> bool:
        """Returns True if the predicate register has no room for the count of pairs."""
        return self.row.turns > 1 and self.row.sums.rest > 0

    @property
    def _restores_places(self) -> bool:
        return self._is_scattered and bool(self._in_memory)

    def statement(self) -> list[str]:
        """Returns C code for a function with pointers to rows, weights and tables."""
        totals = [f"s{i}{j}" for i, sums in enumerate(SUMS) for j in range(len(sums))]
        places = ["    const int32_t *places = ends;"] if self._restores_places else []
        inputs = ' [places] "m"(places)' if self._restores_places else ""
        memory = [f'[{n}] "=m"({n})' for n in self._kept] + [f'[{n}] "+m"({n})' for n in self._in_memory]
        outputs = [
            ", ".join(f'[{n}] "=&Te"({n})' for n in totals),
            ", ".join(f'[{n}] "+r"(in_{n})' for n in self._pointers),
            ", ".join(memory),
        ]
        clobbered = [*(f"q{n}" for n in range(8)), "p0", "memory", "cc"]
        return [
            f"    int32_t {', '.join([*totals, *(n for n in self._kept if n != 'next')])};",
            "    int8_t *next;",
            *(stored_places(self.row) if self._is_scattered else []),
            *places,
            *(
                f'    register {kind} *in_{name} __asm__("{register}") = {value};'
                for register, (name, (kind, value)) in zip(_REGISTERS, self._pointers.items(), strict=False)
            ),
            "    __asm__ volatile(",
            *(f'        "{line.text}\\n\\t"' for line in asm_lines(self)),
            *(f"        {':' if n == 0 else ' '} {text}{',' * (n < 2)}" for n, text in enumerate(outputs)),
            f"        :{inputs}",
            f"        : {', '.join(chr(34) + name + chr(34) for name in clobbered)});",
        ]

    def lines(self) -> Iterator[AsmLine]:
        """Yields the instructions of the statement."""
        row, total, y = self.row, SUMS[0][0], operand("y")
        sums = RowSums(row.sums, PIXELS)
        pair, last = (RowEnds(row.ends, row.requant, n, constants=_CONSTANTS) for n in (PIXELS, self._last))
        next_pair = [*sums.lines(pair.lines()), *pair.into_vectors()]
        if row.sums.rest:
            yield from (stays(f"mov {total}, #{row.sums.rest}"), stays(f"vctp.8 {total}"))
        yield from (stays(f"str {y}, %[next]"), stays(f"mov lr, #{self.fours}"), stays("2:"))
        before = [*last.lines(), AsmLine("ldr", f"ldr {y}, %[next]", (y,)), *self._constants()]
        body = [_kept("fours"), *sums.lines(before), *pair.into_vectors()]
        if row.turns > 1:
            yield from ordered(body)
            yield from (stays(f"mov lr, #{row.turns}"), stays("1:"))
            kept, taken = _kept("turns"), _taken("turns")
            if not self._counts_in_memory:
                kept = AsmLine("vmsr", "vmsr p0, lr", ("p0",), _EVERY)
                taken = AsmLine("vmrs", "vmrs lr, p0", _EVERY, ("p0",))
            yield from ordered([kept, *next_pair, taken])
            yield stays("le lr, 1b")
            body = []
        else:
            body += next_pair * row.turns
        if row.pixels % PIXELS:
            lone = RowSums(row.sums, 1, moves_on=False)
            body += [*lone.lines(pair.lines()), *last.into_vectors()]
        else:
            sizes = zip(("w", "rest"), self._weight_bytes, strict=True)
            body += [computes("add", operand(n), operand(n), end=f"#{size}") for n, size in sizes if size]
        for tap in (operand(name) for name in self._pointers if name[0] == "p"):
            body.append(computes("sub", tap, tap, end=f"#{self._x_bytes}"))
        body.append(computes("add" if self._y_bytes >= 0 else "sub", total, y, end=f"#{abs(self._y_bytes)}"))
        body.append(AsmLine("str", f"str {total}, %[next]", (), (total,)))
        yield from ordered([*body, _taken("fours")])
        yield stays("le lr, 2b")
        yield from ordered(last.lines())

    def _constants(self) -> Iterator[AsmLine]:
        """Yields the loads of a four's constants."""
        start, scale, shift = _CONSTANTS
        swap = operand("ends" if self._is_scattered else "table")
        for name, vector in (("bias", start), ("mult", scale)):
            table = operand(name)
            if name in self._in_memory:
                yield AsmLine("ldr", f"ldr {swap}, {table}", (swap,))
                yield loads("vldrw.32", (vector,), Address(swap, 4 * WORDS, moves=True))
                yield AsmLine("str", f"str {swap}, {table}", (), (swap,))
            else:
                yield loads("vldrw.32", (vector,), Address(table, 4 * WORDS, moves=True))
        if self._restores_places:
            yield AsmLine("ldr", f"ldr {swap}, %[places]", (swap,))
        yield loads("vldrb.s32", (shift,), Address(operand("right"), WORDS, moves=True))
        yield turned(self.row.requant, shift)
        yield from to_ones(self.row.requant, scale)


def _kept(count: str) -> AsmLine:
    """Frees LR, which holds a count at the start of a turn, for a sum."""
    return AsmLine("str", f"str lr, %[{count}]", (), _EVERY)


def _taken(count: str) -> AsmLine:
    return AsmLine("ldr", f"ldr lr, %[{count}]", _EVERY)


@lru_cache(maxsize=64)
def asm_lines(tile: DotRowFours) -> tuple[AsmLine, ...]:
    """Returns the instructions. Cached, since ordering is slow."""
    return tuple(tile.lines())


def dot_row_fours(tile: DotRowFours) -> Instruction:
    """Applies `dot_row` to each four channels, with their constants from tables."""
    row = tile.row
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    x = Buffer("x", DType.I8, 0, Role.ROWS, row.sums.kernel_rows)
    w, rest, right = (Buffer(n, DType.I8, 0, Role.CONSTANT) for n in ("w", "rest", "right"))
    bias, mult = (Buffer(n, DType.I32, 0, Role.CONSTANT) for n in ("bias", "mult"))
    weights = ((w,) if row.sums.steps else ()) + ((rest,) if row.sums.rest else ())
    others = (*weights, bias, mult, right)
    given = [*(f"{{x[{r}]}}" for r in range(row.sums.kernel_rows)), *(f"{{{b.name}}}" for b in others)]
    return Instruction(
        name=tile.name,
        params=(y, x, *others),
        body=_meaning(tile, (y, x, w, rest), (bias, mult, right)),
        call=f"{tile.name}({{y}}, {', '.join(given)});",
        definition=_definition(tile),
        includes=INCLUDES,
        calls=(FEW_REGISTERS, *row.parts),
        needs=NEEDS,
        machine_instructions=len(asm_lines(tile)),
        is_asm=True,
    )


def _meaning(
    tile: DotRowFours, memory: tuple[Buffer, Buffer, Buffer, Buffer], tables: tuple[Buffer, Buffer, Buffer]
) -> tuple[Stmt, ...]:
    """Returns the row's meaning for each four."""
    start, scale, shift = (Buffer(n, DType.I32, WORDS, Role.LOCAL) for n in ("start", "scale", "shift"))
    lanes = (start, scale, shift)
    four, j = variable("four"), variable("j")
    w_bytes, rest_bytes = tile._weight_bytes
    begins = (four * (WORDS * tile.row.ends.channel_step), four * w_bytes, four * rest_bytes)
    constants = [
        For("j", WORDS, (Store(at(buffer, j), load(table, four * WORDS + j)),))
        for buffer, table in zip(lanes, tables, strict=True)
    ]
    row = row_meaning(tile.row, memory, lanes, begins)
    return (For("four", tile.fours, (*map(Declare, lanes), *constants, *row)),)


@lru_cache(maxsize=64)
def _definition(tile: DotRowFours) -> str:
    row = tile.row
    weights = {n: size for n, size in zip(("w", "rest"), tile._weight_bytes, strict=True) if size}
    read = [f"const int8_t *{name}" for name in (*(f"x{r}" for r in range(row.sums.kernel_rows)), *weights)]
    steps = {"y": WORDS * row.ends.channel_step, **weights}
    steps |= dict.fromkeys(("bias", "mult", "shifts"), WORDS)
    lines = [
        f"/* {row.pixels} pixels, {row.sums.x_step} bytes apart, by {tile.fours} times 4 channels:",
        f"   {row.sums.window_text}; {row.requant.said}{row.ends.steps_text}. */",
        f"static inline __attribute__((always_inline)) void {tile.name}(",
        f"    int8_t *y, {', '.join(read)},",
        "    const int32_t *bias, const int32_t *mult, const int8_t *shifts)",
        "{",
        "#ifdef FEW_REGISTERS /* compilers find even registers for intrinsics */",
        f"    for (int32_t four = 0; four < {tile.fours}; ++four) {{",
        "        const int32x4_t start = vldrwq_s32(bias), scale = vldrwq_s32(mult);",
        "        const int32x4_t right = vldrbq_s32(shifts);",
        *(f"    {line}" for line in tile_by_tile(row)),
        *(f"        {pointer} += {step};" for pointer, step in steps.items()),
        "    }",
        "#else",
        *tile.statement(),
        "#endif",
        "}",
    ]
    return "\n".join(lines) + "\n"
