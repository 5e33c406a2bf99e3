"""Helium, a row of tiles of sums: computes one tile while it requantizes the previous one.

Products use one unit, loads another, and the conversion of sums to bytes a third, which would be idle during
sums. Therefore one asm statement computes the whole row:

    the sums of two pixels, moved into vectors
    for the next pairs: [the last pair's vectors to bytes | the sums of this one], moved into vectors
    the last pair's vectors to bytes

Sums use all even registers. While the loop counter LR holds one of them, the count is in the predicate
register, or on the stack if a predicate is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from aot.ir.types import DType
from codegen.isa.asm import FEW_REGISTERS, AsmLine, in_order, operand, stays
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.dots import LANES, HeliumDotTile, dot, four_bit_window
from codegen.isa.helium.four_bits import WeightForm
from codegen.isa.helium.pipeline import WITH_ENDS
from codegen.isa.helium.requantise import (
    WORDS,
    RequantTile,
    in_vector,
    ones_as_scale,
    requantise_tile,
    shift_of,
    suffix,
)
from codegen.isa.helium.row_lines import CHANNELS, PIXELS, SUMS, RowEnds, RowSums
from codegen.isa.plain.requantise import Requant, exact_store
from codegen.loops.affine import Affine, to_affine, variable
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

_COUNT = 32  # bytes from `ends` to the count of the loop
_ODD_REGISTERS = (
    "r5",
    "r1",
    "r3",
    "r7",
    "r9",
)  # R11 is left to the compiler; four lanes are stored by a low register
_MOST_STEPS = 40  # of a tile, without a loop: LE reaches back 4 KB
_MOST_STEPS_SMALL = 8
_IN_TURNS = 9  # steps; for longer tiles, overlap is not worth doubling the code


@dataclass(frozen=True, slots=True)
class DotRow:
    """A row of pixels by up to four channels: the requantized sums of the whole window."""

    sums: HeliumDotTile  # of a pair of pixels
    ends: RequantTile
    pixels: int
    requant: Requant
    is_small: bool = False  # steps are not duplicated

    @property
    def name(self) -> str:
        small = "_small" if self.is_small else ""
        store = f"to_{self.ends.pixel_step}_{self.ends.channel_step}_{suffix(self.requant)}"
        return f"row_of_{self.pixels}_{self.sums.name}_{store}{small}"

    @property
    def steps(self) -> int:
        t = self.sums
        return t.kernel_rows * t.taps * (t.steps + (t.rest > 0))

    @property
    def is_in_asm(self) -> bool:
        """Returns True if one statement can compute the row; otherwise it is computed tile by tile."""
        most = _MOST_STEPS_SMALL if self.is_small else _MOST_STEPS
        shifts_right = self.requant.rights[0] >= 1
        is_whole = self.sums.channels == CHANNELS and self.pixels >= PIXELS
        sums = RowSums(self.sums, PIXELS)
        registers = sums.pointers + 1 + self.has_words
        in_registers = registers <= len(_ODD_REGISTERS) and sums.is_in_reach()
        return is_whole and in_registers and shifts_right and self.steps <= most

    @property
    def has_words(self) -> bool:
        """Returns True if a pointer to constants on the stack is needed."""
        return self.counts_in_memory or self.ends.channel_step != 1

    @property
    def counts_in_memory(self) -> bool:
        """Returns True if the predicate register is in use."""
        return self.sums.rest > 0 and self.turns > 1

    @property
    def overlaps(self) -> bool:
        has_registers = self.sums.form is not WeightForm.NIBBLES
        return has_registers and not self.is_small and self.steps <= _IN_TURNS

    @property
    def turns(self) -> int:
        """Returns the iterations of the loop over pairs; one pair needs none."""
        turns = self.pixels // PIXELS - self.overlaps
        return turns if turns > (not self.overlaps) else 0

    @property
    def parts(self) -> list[Instruction]:
        """Returns the instructions of a pair of pixels, and of a last single one."""
        pairs, lone = divmod(self.pixels, PIXELS)
        counts = [n for n, there in ((PIXELS, pairs), (1, lone)) if there]
        tiles = [(replace(self.sums, pixels=n), replace(self.ends, pixels=n)) for n in counts]
        return [made for s, e in tiles for made in (dot(s), requantise_tile(e, self.requant))]


def dot_row(row: DotRow) -> Instruction:
    """y[i][j] = stored(start[j] + sum over the window of x * w); weights as for `dot`."""
    tile, channels = row.sums, row.sums.channels
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    x = Buffer("x", DType.I8, 0, Role.ROWS, tile.kernel_rows)
    w, rest = (Buffer(name, DType.I8, 0, Role.CONSTANT) for name in ("w", "rest"))
    weights = ((w,) if tile.steps else ()) + ((rest,) if tile.rest else ())
    start, scale, right = (in_vector(name, channels) for name in ("start", "scale", "right"))
    rows = ", ".join(f"{{x[{r}]}}" for r in range(tile.kernel_rows))
    others = ", ".join(f"{{{b.name}}}" for b in (*weights, start, scale, right))
    return Instruction(
        name=row.name,
        params=(y, x, *weights, start, scale, right),
        body=row_meaning(row, (y, x, w, rest), (start, scale, right)),
        call=f"{row.name}({{y}}, {rows}, {others});",
        definition=_definition(row),
        includes=INCLUDES,
        calls=(FEW_REGISTERS, *row.parts),
        needs=NEEDS,
        machine_instructions=_machine_instructions(row),
        is_asm=row.is_in_asm,
    )


def _machine_instructions(row: DotRow) -> int:
    if row.is_in_asm:
        return len(_asm_lines(row))
    return sum(part.machine_instructions for part in row.parts)


def row_meaning(
    row: DotRow,
    memory: tuple[Buffer, Buffer, Buffer, Buffer],
    lanes: tuple[Buffer, Buffer, Buffer],
    begins: tuple[Affine, Affine, Affine] = (Affine(), Affine(), Affine()),
) -> tuple[Stmt, ...]:
    """Returns the row's loops; `begins` are elements of y, w and rest."""
    y_first, w_first, rest_first = begins
    tile, (y, x, w, rest), (start, scale, right) = row.sums, memory, lanes
    total = Buffer("total", DType.I32, 1, Role.LOCAL)
    i, j, r, t, n, lane = (variable(v) for v in ("i", "j", "r", "t", "n", "lane"))

    def one_channel(channel: Affine | int, window: For) -> tuple[Stmt, ...]:
        given = (Binary("+", load(total), load(start, channel)), load(scale, channel), load(right, channel))
        place = at(y, y_first + i * row.ends.pixel_step + to_affine(channel) * row.ends.channel_step)
        stored = Store(place, Apply(exact_store(row.requant).store, given))
        return (Declare(total), Store(at(total), Const(0)), window, stored)

    if tile.form.is_four_bits:
        windows = [
            four_bit_window(tile, at(total), (x, w, rest), (channel, i * tile.x_step))
            for channel in range(tile.channels)
        ]
        each = (For(f"j{c}", 1, one_channel(c, window)) for c, window in enumerate(windows))
        return (For("i", row.pixels, tuple(each)),)
    tap = r * tile.taps + t
    begin = i * tile.x_step + t * tile.tap_step

    def product(k: Affine, weights: Buffer, place: Affine) -> Accumulate:
        return Accumulate(at(total), Binary("*", load(x, begin + k, r), load(weights, place)))

    whole = w_first + ((tap * tile.steps + n) * tile.channels + j) * LANES + lane
    left = rest_first + (tap * tile.channels + j) * tile.rest + lane
    inner: tuple[Stmt, ...] = ()
    if tile.steps:
        inner += (For("n", tile.steps, (For("lane", LANES, (product(n * LANES + lane, w, whole),)),)),)
    if tile.rest:
        inner += (For("lane", tile.rest, (product(lane + tile.steps * LANES, rest, left),)),)
    window = For("r", tile.kernel_rows, (For("t", tile.taps, inner),))
    return (For("i", row.pixels, (For("j", tile.channels, one_channel(j, window)),)),)


@lru_cache(maxsize=256)
def _definition(row: DotRow) -> str:
    """Returns the function. Cached: each variant of a plan lowers the same layer, and ordering is slow."""
    tile = row.sums
    rows = [f"const int8_t *x{r}" for r in range(tile.kernel_rows)]
    weights = (["const int8_t *w"] if tile.steps else []) + (["const int8_t *rest"] if tile.rest else [])
    body = tile_by_tile(row)
    if row.is_in_asm:
        why = "/* compilers find even registers for intrinsics */"
        body = [f"#ifdef FEW_REGISTERS {why}", *body, "#else", *_in_asm(row), "#endif"]
    lines = [
        f"/* {row.pixels} pixels, {tile.x_step} bytes apart, {tile.channels} channels, summed and stored:",
        f"   {tile.window_text}; {row.requant.said}{row.ends.steps_text}. */",
        f"static inline __attribute__((always_inline)) void {row.name}(",
        f"    int8_t *y, {', '.join([*rows, *weights])},",
        "    int32x4_t start, int32x4_t scale, int32x4_t right)",
        "{",
        *body,
        "}",
    ]
    return "\n".join(lines) + "\n"


def tile_by_tile(row: DotRow) -> list[str]:
    pairs, lone = divmod(row.pixels, PIXELS)
    parts, lines = row.parts, []
    if pairs:
        lines += [f"    for (int32_t i = 0; i < {pairs}; ++i) {{"]
        lines += [f"    {line}" for line in _one_tile(row, PIXELS, parts[0], parts[1], "i")]
        lines += ["    }"]
    if lone:
        lines += ["    {", *(f"    {line}" for line in _one_tile(row, 1, parts[-2], parts[-1], str(pairs)))]
        lines += ["    }"]
    return lines


def _one_tile(row: DotRow, pixels: int, sums: Instruction, ends: Instruction, turn: str) -> list[str]:
    tile = row.sums
    names = [f"s{n}" for n in range(pixels * tile.channels)]
    at_x, at_y = (f"{turn} * {PIXELS * step}" for step in (tile.x_step, row.ends.pixel_step))
    rows = [f"x{r} + {at_x}" for r in range(tile.kernel_rows)]
    weights = (["w"] if tile.steps else []) + (["rest"] if tile.rest else [])
    return [
        f"    int32_t {', '.join(names)};",
        f"    {sums.name}({', '.join([*(f'&{n}' for n in names), *rows, *weights])});",
        f"    {ends.name}(y + {at_y}, {', '.join(names)}, start, scale, right);",
    ]


def _in_asm(row: DotRow) -> list[str]:
    totals = [f"s{i}{j}" for i in range(PIXELS) for j in range(CHANNELS)]
    pointers = pinned(row)
    outputs = [", ".join(f'[{n}] "=&Te"({n})' for n in totals)]
    outputs += [", ".join(f'[{n}] "+r"(in_{n})' for n in pointers)]
    inputs = [f'[{n}] "w"({n})' for n in ("start", "scale", "shift")]
    clobbered = ["q0", "q1", "q2", "q3", "q7", "p0", "memory", "cc"]
    return [
        f"    const int32x4_t shift = {shift_of(row.requant)};",
        *ones_as_scale(row.requant),
        f"    int32_t {', '.join(totals)};",
        *(_words(row) if row.has_words else []),
        *(
            f'    register {kind} *in_{name} __asm__("{register}") = {value};'
            for register, (name, (kind, value)) in zip(_ODD_REGISTERS, pointers.items(), strict=False)
        ),
        "    __asm__ volatile(",
        *(f'        "{line.text}\\n\\t"' for line in _asm_lines(row)),
        f"        : {outputs[0]},",
        f"          {outputs[1]}",
        f"        : {', '.join(inputs)}",
        f"        : {', '.join(chr(34) + name + chr(34) for name in clobbered)});",
    ]


def pinned(row: DotRow) -> dict[str, tuple[str, str]]:
    """Returns the pointers, with C code of their types and values.

    They are pinned, because compilers fail to allocate so many registers.
    """
    tile = row.sums
    taps = [(r, t * tile.tap_step) for r in range(tile.kernel_rows) for t in range(tile.taps)]
    begins = [f"x{r} + {offset}" if offset else f"x{r}" for r, offset in taps]
    found = {"y": ("int8_t", "y"), **{f"p{n}": ("const int8_t", begin) for n, begin in enumerate(begins)}}
    weights = (["w"] if tile.steps else []) + (["rest"] if tile.rest else [])
    found |= {n: ("const int8_t", n) for n in weights}
    return {**found, "ends": ("const int32_t", "ends")} if row.has_words else found


def _words(row: DotRow) -> list[str]:
    """Returns the offsets of bytes, if a pixel's are not contiguous, and the count, if it is in memory."""
    is_scattered = row.ends.channel_step != 1
    lines = stored_places(row, "places" if row.counts_in_memory else "ends") if is_scattered else []
    if row.counts_in_memory:
        lines += [f"    int32_t ends[{_COUNT // 4 + 1}];", f"    ends[{_COUNT // 4}] = {row.turns};"]
        copied = (0, WORDS) if is_scattered else ()
        lines += [f"    vstrwq_s32(ends + {n}, vldrwq_s32(places + {n}));" for n in copied]
    return lines


def stored_places(row: DotRow, name: str = "ends") -> list[str]:
    """Returns the offsets of the stored bytes of two pixels, and of one."""
    pixel, channel = row.ends.pixel_step, row.ends.channel_step
    words = [(j * channel + pixel) << 16 | j * channel for j in range(CHANNELS)]
    words += [j * channel for j in range(CHANNELS)]
    return [f"    static const int32_t {name}[] = {{{', '.join(map(str, words))}}};"]


@lru_cache(maxsize=256)
def _asm_lines(row: DotRow) -> tuple[AsmLine, ...]:
    return tuple(_lines(row))


def _lines(row: DotRow) -> Iterator[AsmLine]:
    sums, lone_sums = RowSums(row.sums, PIXELS), RowSums(row.sums, 1, moves_on=False)
    ends, lone_ends = (RowEnds(row.ends, row.requant, n, row.sums.form) for n in (PIXELS, 1))
    moved, stored = list(ends.into_vectors()), ends.lines()
    if row.sums.rest:
        first = SUMS[0][0]  # not yet in use as a sum
        yield from (stays(f"mov {first}, #{row.sums.rest}"), stays(f"vctp.8 {first}"))
    if row.overlaps:
        yield from ordered([*sums.lines(), *moved])
        yield from _looped(row, [*sums.lines(stored), *moved])
        last = stored
    else:
        yield from _looped(row, [*sums.lines(), *moved, *stored])
        last = []
    if row.pixels % PIXELS:
        yield from ordered([*lone_sums.lines(last), *lone_ends.into_vectors()])
        yield from ordered(lone_ends.lines())
    else:
        yield from ordered(last)


def _looped(row: DotRow, body: list[AsmLine]) -> list[AsmLine]:
    """Returns the loop around the body; LR is used for a sum, or as counter."""
    turns = row.turns
    if not turns:
        return [] if row.overlaps else ordered(body)
    every = tuple(total for pixel in SUMS for total in pixel)
    if turns == 1:
        return ordered(body)
    if row.counts_in_memory:
        count = f"{operand('ends')}, #{_COUNT}"
        first = AsmLine("ldr", f"ldr lr, [{count}]", every)
        kept, taken = AsmLine("str", f"str lr, [{count}]", (), every), first
    else:
        first = AsmLine("mov", f"mov lr, #{turns}", every)
        kept = AsmLine("vmsr", "vmsr p0, lr", ("p0",), every)
        taken = AsmLine("vmrs", "vmrs lr, p0", every, ("p0",))
    return [first, stays("1:"), *ordered([kept, *body, taken]), stays("le lr, 1b")]


def ordered(lines: list[AsmLine]) -> list[AsmLine]:
    return in_order(lines, *WITH_ENDS)
