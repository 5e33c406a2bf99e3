"""Cortex-M DSP extension: sums of a tile of pixels with halfwords of two weights.

The factors of a group are contiguous for all pixels of the tile, so that one LDM loads them. Four pixels and
two channels leave registers for three factors: words are loaded one by one, in runs that take a cycle each
and one more. So 32 products need 32 cycles of a Cortex-M4. The record of the tile's channels has everything
else in the order of its use, so that one pointer is enough: start values, which are the last pixel's sums
until the first products, the weights, and the constants of the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from aot.ir.types import DType
from aot.wording import counted
from codegen.isa.asm import END_OF_BLOCK, FEW_REGISTERS
from codegen.isa.dsp.dot_tile import unroll_text
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.paired_vector import macro
from codegen.isa.dsp.winograd import TWO_HALVES
from codegen.kernels.paired_rows import FACTORS as FACTORS_EACH
from codegen.kernels.paired_rows import ResultRow, results_nest
from codegen.kernels.paired_weights import HALVES
from codegen.loops.ir import Buffer, Instruction, Role, ScalarFunction

_WORD = 4
_WORDS = ("a", "b")  # registers of weights
_FACTORS = ("p", "q", "e", "f")
FACTOR_REGISTERS = ScalarFunction(
    "FACTOR_REGISTERS",
    DType.I32,
    """\
/* LDM loads the lower registers from the lower addresses. With -Os, gcc finds registers for all else around
   r0 to r3 only; otherwise the others cost fewer moves before and behind. */
#ifdef __OPTIMIZE_SIZE__
#define REGISTER_P "r0"
#define REGISTER_Q "r1"
#define REGISTER_E "r2"
#define REGISTER_F "r3"
#else
#define REGISTER_P "r4"
#define REGISTER_Q "r5"
#define REGISTER_E "r6"
#define REGISTER_F "r8"
#endif
""",
    lambda: 0,
)
_MOST_PIXELS = 4  # of a tile
_STACK_BYTES = 52  # of pointers and counters while a tile uses all registers
_ADDED_STACK_BYTES = 48  # of what is added to results, with all of a tile's sums
ROW_UNROLLS = tuple(range(1, 25))


@dataclass(frozen=True, slots=True)
class PairedTile:
    """Sums of `pixels` by `channels` over `groups` groups of four."""

    pixels: int  # up to 4
    channels: int  # up to 2
    groups: int
    most_unrolled: int  # groups per iteration

    @property
    def unroll(self) -> int:
        return max(u for u in ROW_UNROLLS if u <= self.most_unrolled and self.groups % u == 0)

    @property
    def is_straight(self) -> bool:
        """Returns True if all groups are unrolled, without a loop."""
        return self.unroll == self.groups

    @property
    def name(self) -> str:
        unroll = f"{self.unroll}_once" if self.is_straight else f"by_{self.unroll}"
        return f"{self.pixels}x{self.channels}_{unroll}"


@lru_cache(maxsize=256)
def paired_row(row: ResultRow, most_unrolled: int) -> Instruction:
    """Stores the results of a row of tiles; w is the record of the tiles' channels."""
    tile = PairedTile(row.pixels, row.channels, row.groups, most_unrolled)
    y = Buffer("y", row.y_dtype, 0, Role.OUTPUT)
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    w = Buffer("w", DType.I16, 0, Role.CONSTANT)
    storing = row.storing
    params: tuple[Buffer, ...] = (y, v, w)
    numbers = [("tiles", row.tiles), ("y_pixel", row.y_pixel_step)]
    several = row.channels > 1
    numbers += [("y_channel", row.y_channel_step)] if several else []
    words = ["paired_row", tile.name, row.y_dtype.value, storing.store.name]
    calls: list[Instruction | ScalarFunction] = [_sums(tile), storing.store]
    if storing.is_prepared:
        words.append("prepared")
    elif storing.prepare is not None:
        words.append(storing.prepare.name)
        calls.append(storing.prepare)
    addend = row.addend
    if addend is not None:
        added = Buffer("b", addend.row.dtype, 0, Role.INPUT)
        addend, params = replace(addend, row=added, first=0), (y, v, w, added)
        numbers += [("b_pixel", addend.pixel_step)]
        numbers += [("b_channel", addend.channel_step)] if several else []
        words.append(addend.added.name)
        calls.append(addend.added)
    numbers += [] if tile.is_straight else [("groups", tile.groups)]
    name = "_".join(words)
    given = [f"{{{each}}}" for each in (*(param.name for param in params), *dict(numbers))]
    return Instruction(
        name=name,
        params=params,
        body=(results_nest(replace(row, addend=addend), (y, v, w)),),
        call=f"{name}({', '.join(given)});",
        definition=_row_text(row, tile, name, list(dict(numbers))),
        includes=("arm_acle.h", "string.h"),
        calls=tuple(calls),
        needs=NEEDS,
        machine_instructions=_machine_instructions(tile) + 3 * tile.pixels * tile.channels,
        stack_bytes=_STACK_BYTES + (_ADDED_STACK_BYTES if addend is not None else 0),
        numbers=tuple(numbers),
    )


def _row_text(row: ResultRow, tile: PairedTile, name: str, numbers: Sequence[str]) -> str:
    """Returns the function: sums and constants from assembly, results in C, which compilers do as well."""
    storing, addend, channels, sums = row.storing, row.addend, range(tile.channels), _names(tile)
    second = "addend" if storing.is_fitted else "shift"
    constants = [f"{each}{j}" for each in ("scale", second) for j in channels]
    groups, last = ("", str(tile.groups)) if tile.is_straight else (", groups", "groups")
    given = ", ".join([*(f"&{each}" for each in (*sums, *constants)), "v", "w"])
    b = f", const {addend.row.dtype.c_name} *b" if addend is not None else ""
    lines = [
        f"/* Tiles of {counted(tile.pixels, 'pixel')} and {counted(tile.channels, 'channel')}: results from"
        " the channels' record w, y_pixel and y_channel elements apart. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        f"    {row.y_dtype.c_name} *y, const int16_t *v, const int16_t *w{b},",
        f"    {', '.join(f'int32_t {number}' for number in numbers)})",
        "{",
        "    for (int32_t n = 0; n < tiles; ++n) {",
        f"        int32_t {', '.join([*sums, *constants])};",
        f"        v = {_sums_name(tile)}(",
        f"            {given}{groups});",
    ]
    if storing.is_prepared:
        lines += [
            f"        int32_t {', '.join(f'term{j}' for j in channels)};",
            f"        const int16_t *const terms = w + {tile.channels * HALVES} * (3 + {last});",
            *(f"        memcpy(&term{j}, terms{_plus(j * HALVES)}, sizeof term{j});" for j in channels),
        ]
    elif storing.prepare is not None:
        prepare = storing.prepare.name
        lines += [f"        const int32_t term{j} = {prepare}({second}{j});" for j in channels]
    for number, each in enumerate(sums):
        i, j = divmod(number, tile.channels)
        term = f", term{j}" if storing.prepare is not None else ""
        result = f"{storing.store.name}({each}, scale{j}, {second}{j}{term})"
        if addend is not None:
            result = f"{addend.added.name}({result}, b[{_place('b', i, j)}])"
        lines.append(f"        y[{_place('y', i, j)}] = ({row.y_dtype.c_name}){result};")
    moved = ["y", *(["b"] if addend is not None else [])]
    lines += [f"        {each} += {each}_pixel * {tile.pixels};" for each in moved]
    return "\n".join([*lines, "    }", "}"]) + "\n"


def _place(name: str, pixel: int, channel: int) -> str:
    """Returns C code for the place of a pixel's element of a channel."""
    steps = ((pixel, f"{name}_pixel"), (channel, f"{name}_channel"))
    return " + ".join(f"{step} * {count}" if count > 1 else step for count, step in steps if count) or "0"


def _plus(number: int) -> str:
    return f" + {number}" if number else ""


@lru_cache(maxsize=256)
def _sums(tile: PairedTile) -> Instruction:
    """Returns the function that computes a tile's sums and loads its channels' constants."""
    return Instruction(
        name=_sums_name(tile),
        params=(),
        body=(),
        call="",
        definition=_text(tile),
        includes=("arm_acle.h",),
        calls=(*_macros(tile), FACTOR_REGISTERS, _in_c(tile.pixels, tile.channels)),
        needs=NEEDS,
    )


def _sums_name(tile: PairedTile) -> str:
    return f"paired_sums_{tile.name}"


def _machine_instructions(tile: PairedTile) -> int:
    """Returns the instructions of an iteration, the start values' and the constants' loads included."""
    copies = 0 if tile.is_straight else (tile.pixels - 1) * tile.channels
    return len(_turn_lines(tile)) + 2 + copies


def _groups(tile: PairedTile, count: int = 1, is_first: bool = False) -> Iterator[str]:
    """Yields four products of each sum for each group; factors are loaded as far as registers are left.

    The first group loads the start values, too, to which its first products are added.
    """
    words, registers, last = _words(tile), _factors(tile), tile.pixels - 1
    factors = [(n, kind, i) for n in range(count) for kind in range(FACTORS_EACH) for i in range(tile.pixels)]
    if is_first and tile.pixels < _MOST_PIXELS:
        yield _load_many("w", [f"s{last}{j}" for j in range(tile.channels)])
    for first in range(0, len(factors), len(registers)):
        used = dict(zip(registers, factors[first : first + len(registers)], strict=False))
        if first == 0 and tile.pixels == _MOST_PIXELS:
            starts = [f"s{last}{j}" for j in range(tile.channels)] if is_first else []
            yield from (*_load_in_turn("w", [*starts, *words]), *_load_in_turn("v", list(used)))
        else:
            yield from [_load_many("w", words)] * (first == 0)
            yield _load_many("v", list(used))
        for register, (n, kind, i) in used.items():
            if (kind, i) == (0, 0) and n:
                yield _load_many("w", words)
            if (kind, i) == (1, 0):
                yield from (f"sxtb16 %[{word}], %[{word}]" for word in words)
            before = last if is_first and (n, kind) == (0, 0) else i
            for j, word in enumerate(words):
                yield f"smlad %[s{i}{j}], %[{register}], %[{word}], %[s{before}{j}]"


def _words(tile: PairedTile) -> tuple[str, ...]:
    """Returns the registers of weights. Those of the largest tile are among the ones that LDM loads."""
    return (_FACTORS if tile.pixels == _MOST_PIXELS else _WORDS)[: tile.channels]


def _factors(tile: PairedTile) -> tuple[str, ...]:
    """Returns the registers of factors."""
    return _FACTORS[tile.channels :] if tile.pixels == _MOST_PIXELS else _FACTORS


def _load_in_turn(pointer: str, registers: Sequence[str]) -> Iterator[str]:
    """Yields loads that advance the pointer: a cycle for each of a run, and another one."""
    for number, register in enumerate(registers):
        if number:
            yield f"ldr %[{register}], [%[{pointer}], #{_WORD * number}]"
    yield f"ldr %[{registers[0]}], [%[{pointer}]], #{_WORD * len(registers)}"


def _load_many(pointer: str, registers: Sequence[str]) -> str:
    """Returns a load of consecutive words that advances the pointer."""
    each = ", ".join(f"%[{register}]" for register in registers)
    if len(registers) > 2:
        return f"ldm %[{pointer}]!, {{{each}}}"
    return f"{'ldrd' if len(registers) == 2 else 'ldr'} {each}, [%[{pointer}]], #{_WORD * len(registers)}"


def _temps(tile: PairedTile) -> list[str]:
    """Returns the registers of weights, factors and constants that an iteration uses."""
    lines = "".join([*_turn_lines(tile), _load_many("w", _constants(tile))])
    return [name for name in (*_WORDS, *_FACTORS) if f"%[{name}]" in lines]


def _constants(tile: PairedTile) -> tuple[str, ...]:
    """Returns the registers of the channels' scales, and of their addends or shifts."""
    return _FACTORS[: 2 * tile.channels]


def _turns(tile: PairedTile) -> list[tuple[int, bool]]:
    """Returns the groups that are computed together, and whether they begin the sums.

    Two groups of three pixels have factors for three loads of four registers. They use every register, and
    the end of a loop may need one more.
    """
    most = 2 if tile.pixels == 3 and tile.is_straight else 1
    counts = [most] * (tile.unroll // most) + [1] * (tile.unroll % most)
    return [(count, tile.is_straight and number == 0) for number, count in enumerate(counts)]


def _turn_lines(tile: PairedTile) -> list[str]:
    return [line for turn in _turns(tile) for line in _groups(tile, *turn)]


def _declared(tile: PairedTile) -> list[str]:
    """Returns the declarations of these; factors are in registers that LDM can load."""
    fixed = [f"{name} __asm__(REGISTER_{name.upper()})" for name in _temps(tile) if name in _FACTORS]
    words = [name for name in _temps(tile) if name in _WORDS]
    return [
        *([f"    int32_t {', '.join(words)};"] if words else []),
        f"    register int32_t {', '.join(fixed)};",
    ]


def _names(tile: PairedTile) -> list[str]:
    return [f"sum{i}{j}" for i in range(tile.pixels) for j in range(tile.channels)]


def _text(tile: PairedTile) -> str:
    sums, channels = _names(tile), range(tile.channels)
    head, given = ("", str(tile.groups)) if tile.is_straight else (", int32_t groups", "groups")
    constants = [f"{each}{j}" for each in ("scale", "other") for j in channels]
    passed = ", ".join([*sums, *constants])
    lines = [
        f"/* {counted(tile.pixels, 'pixel').capitalize()} and {counted(tile.channels, 'channel')},"
        f" four weights at a time, {unroll_text(tile.unroll, tile.is_straight)}.",
        "   The record w has start values of sums, the weights, scales and other constants. */",
        f"static inline __attribute__((always_inline)) const int16_t *{_sums_name(tile)}(",
        f"    {', '.join(f'int32_t *{s}' for s in sums)},",
        f"    {', '.join(f'int32_t *{each}' for each in constants)},",
        f"    const int16_t *v, const int16_t *w{head})",
        "{",
        "#ifdef FEW_REGISTERS",
        f"    return {_name_in_c(tile.pixels, tile.channels)}({passed}, v, w, {given});",
        "#else",
        *_declared(tile),
        *(_straight(tile) if tile.is_straight else _looped(tile)),
        *(f"    *{each} = {place};" for each, place in zip(constants, _constants(tile), strict=True)),
        "    return v;",
        "#endif",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _macro_name(tile: PairedTile, count: int, is_first: bool) -> str:
    groups = "TWO_GROUPS" if count == 2 else "GROUP"
    return f"DOT_{tile.pixels}X{tile.channels}_{groups}{'_FROM_START' if is_first else ''}"


def _macros(tile: PairedTile) -> list[Instruction]:
    """Returns the assembly of groups, which functions of several lengths share."""
    every = dict.fromkeys(_turns(tile))
    return [_macro(_macro_name(tile, *turn), list(_groups(tile, *turn))) for turn in every]


def _macro(name: str, lines: list[str]) -> Instruction:
    return Instruction(name, (), (), "", "\n".join(macro(name, lines)) + "\n", needs=NEEDS)


def _straight(tile: PairedTile) -> list[str]:
    return [
        "    __asm__ volatile(",
        *_turn(tile),
        f'        "{_load_many("w", _constants(tile))}\\n\\t"',
        *_operands(tile),
        '        : : "memory");',
    ]


def _looped(tile: PairedTile) -> list[str]:
    """Returns the loop. Its end is in memory, and compared in a register that is free at that point."""
    last = [f"s{tile.pixels - 1}{j}" for j in range(tile.channels)]
    copies = [
        " ".join(f'"mov %[s{i}{j}], %[{each}]\\n\\t"' for j, each in enumerate(last))
        for i in range(tile.pixels - 1)
    ]
    return [
        f"    const int16_t *const end = w + {tile.channels * HALVES} + groups * {tile.channels * HALVES};",
        "    __asm__ volatile(",
        f'        "{_load_many("w", last)}\\n\\t"',
        *(f"        {line}" for line in copies),
        '        "1:\\n\\t"',
        *_turn(tile),
        '        "ldr %[p], %[end]\\n\\t" "cmp %[w], %[p]\\n\\t" "bne 1b\\n\\t"',
        f'        "{_load_many("w", _constants(tile))}\\n\\t"',
        *_operands(tile),
        '        : [end] "m"(end)',
        '        : "memory", "cc");',
        *END_OF_BLOCK,
    ]


def _turn(tile: PairedTile) -> list[str]:
    macros = [_macro_name(tile, *turn) for turn in _turns(tile)]
    return [f"        {' '.join(macros[first : first + 5])}" for first in range(0, len(macros), 5)]


def _operands(tile: PairedTile) -> list[str]:
    """Returns a line for each pixel's sums, one for the pointers, one for what an iteration uses."""
    each = range(tile.channels)
    sums = [", ".join(f'[s{i}{j}] "=&r"(*sum{i}{j})' for j in each) + "," for i in range(tile.pixels)]
    used = ", ".join(f'[{name}] "=&r"({name})' for name in _temps(tile))
    return [
        f"        : {sums[0]}",
        *(f"          {line}" for line in sums[1:]),
        '          [v] "+r"(v), [w] "+r"(w),',
        f"          {used}",
    ]


def _name_in_c(pixels: int, channels: int) -> str:
    return f"paired_sums_{pixels}x{channels}_in_c"


@lru_cache(maxsize=16)
def _in_c(pixels: int, channels: int) -> Instruction:
    """Returns the same in intrinsics, for compilers that allocate registers themselves."""
    sums = [[f"sum{i}{j}" for j in range(channels)] for i in range(pixels)]
    constants = [f"{each}{j}" for each in ("scale", "other") for j in range(channels)]
    lines = [
        "#ifdef FEW_REGISTERS",
        f"static inline __attribute__((always_inline)) const int16_t *{_name_in_c(pixels, channels)}(",
        f"    {', '.join(f'int32_t *{s}' for of_pixel in sums for s in of_pixel)},",
        f"    {', '.join(f'int32_t *{each}' for each in constants)},",
        "    const int16_t *v, const int16_t *w, int32_t groups)",
        "{",
    ]
    for j in range(channels):
        lines.append(f"    *sum0{j} = two_halves(w{_plus(j * HALVES)});")
        lines += [f"    *{of_pixel[j]} = *sum0{j};" for of_pixel in sums[1:]]
    lines += [f"    w += {channels * HALVES};", "    for (int32_t n = 0; n < groups; ++n) {"]
    for j in range(channels):
        lines.append(f"        const int32_t w{j} = two_halves(w{_plus(j * HALVES)});")
    for i in range(pixels):
        first, mixed = (place * HALVES for place in (i, pixels + i))
        lines.append(
            f"        const int32_t x{i} = two_halves(v{_plus(first)}), m{i} = two_halves(v + {mixed});"
        )
        for j in range(channels):
            lines.append(
                f"        *sum{i}{j} = __smlad(m{i}, __sxtb16(w{j}), __smlad(x{i}, w{j}, *sum{i}{j}));"
            )
    lines += [
        f"        v += {pixels * HALVES * FACTORS_EACH};",
        f"        w += {channels * HALVES};",
        "    }",
    ]
    for n, each in enumerate(constants):
        lines.append(f"    *{each} = two_halves(w{_plus(n * HALVES)});")
    lines += ["    return v;", "}", "#endif"]
    return Instruction(
        name=_name_in_c(pixels, channels),
        params=(),
        body=(),
        call="",
        definition="\n".join(lines) + "\n",
        includes=("arm_acle.h",),
        calls=(FEW_REGISTERS, TWO_HALVES),
        needs=NEEDS,
    )
