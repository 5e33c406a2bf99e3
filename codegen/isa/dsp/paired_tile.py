"""Cortex-M DSP extension: sums of a tile of pixels with halfwords of two weights.

The factors of a group are contiguous for all pixels of the tile, so that one LDM loads them. For three pixels
and two channels, 48 products need 33 instructions and 49 cycles of a Cortex-M4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aot.ir.types import DType
from aot.wording import counted
from codegen.isa.dsp.dot_tile import unroll_text
from codegen.isa.dsp.needs import NEEDS, needs_of
from codegen.isa.dsp.paired_vector import FACTORS, FACTORS_OF_WORD, macro
from codegen.isa.dsp.winograd import TWO_HALVES
from codegen.isa.few_registers import END_OF_BLOCK, FEW_REGISTERS
from codegen.kernels.paired_rows import FACTORS as FACTORS_EACH
from codegen.kernels.paired_rows import factors_nest, products, rests_nest, tile_factors
from codegen.kernels.paired_weights import GROUP, HALVES
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, For, Instruction, Role, ScalarFunction, at, load

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
_LEAST_GROUPS = 10  # at least, to process groups in pairs
_MOST_PIXELS = 3  # of a tile whose factors are not loaded at once
UNROLLS = tuple(range(1, 25))


@dataclass(frozen=True, slots=True)
class PairedTile:
    """Sums of `pixels` by `channels` over `groups` groups of four."""

    pixels: int  # up to 3
    channels: int  # up to 2
    groups: int
    most_unrolled: int  # groups per iteration

    @property
    def unroll(self) -> int:
        return max(u for u in UNROLLS if u <= self.most_unrolled and self.groups % u == 0)

    @property
    def is_straight(self) -> bool:
        """Returns True if all groups are unrolled, without a loop."""
        return self.unroll == self.groups

    @property
    def name(self) -> str:
        unroll = f"{self.unroll}_once" if self.is_straight else f"by_{self.unroll}"
        twos = "_in_twos" if _twos_and_ones(self)[0] else ""
        return f"paired_dot_{self.pixels}x{self.channels}_{unroll}{twos}"


@lru_cache(maxsize=256)
def factors_of(pixels: int, x_step: int, groups: int, is_aligned: bool) -> Instruction:
    """Returns an instruction that computes the factors of a tile over the groups of a kernel row."""
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    x = Buffer("x", DType.I8, 0, Role.INPUT)
    zero = Affine()
    name = f"paired_factors_{pixels}"
    step = () if pixels == 1 else (("x_step", x_step),)
    return Instruction(
        name=name,
        params=(v, x),
        body=(factors_nest(v, x, pixels, x_step, groups, (zero, zero, zero)),),
        call=f"{name}({{v}}, {{x}}, {'{x_step}, ' if step else ''}{{groups}});",
        definition=_factors_text(name, pixels),
        includes=("arm_acle.h", "string.h"),
        calls=(FACTORS,),
        needs=needs_of(is_aligned),
        machine_instructions=6 * pixels + 6,
        numbers=(*step, ("groups", groups)),
    )


def _factors_text(name: str, pixels: int) -> str:
    each = range(pixels)
    lines = [
        f"/* Factors of {counted(pixels, 'pixel')}, x_step bytes apart, four bytes of each at a time. */"
        if pixels > 1
        else "/* Factors of a pixel, four bytes at a time. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        f"    int16_t *v, const int8_t *x, {'int32_t x_step, ' if pixels > 1 else ''}int32_t groups)",
        "{",
        "    for (int32_t n = 0; n < groups; ++n) {",
        f"        int32_t factors[{pixels * FACTORS_EACH}];",
        *(f"        factors_of_pixels(x{_steps(i)}, &factors[{i}], &factors[{pixels + i}]);" for i in each),
        "        memcpy(__builtin_assume_aligned(v, 4), factors, sizeof factors);",
        f"        v += {pixels * HALVES * FACTORS_EACH};",
        f"        x += {GROUP};",
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _steps(count: int) -> str:
    """Returns C code for an offset of that many pixels."""
    return {0: "", 1: " + x_step"}.get(count, f" + x_step * {count}")


@lru_cache(maxsize=256)
def rests_of(pixels: int, x_step: int, rows: int, rest: int) -> Instruction:
    """Returns an instruction that computes the factors of the joined remainders of kernel rows."""
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    x = Buffer("x", DType.I8, 0, Role.ROWS, rows)
    name = f"paired_rests_{pixels}_{rest}_of_{rows}_rows"
    return Instruction(
        name=name,
        params=(v, x),
        body=(rests_nest(v, x, pixels, x_step, (rows, rest), (0, 0)),),
        call=f"{name}({{v}}, {{x_array}}, {{x_offset}}, {{x_step}});",
        definition=_rests_text(name, pixels, rows, rest),
        includes=("string.h",),
        calls=(FACTORS_OF_WORD,),
        needs=NEEDS,
        machine_instructions=(8 * -(-rows * rest // GROUP) + 2) * pixels,
        numbers=(("x_step", x_step),),
    )


def _rests_text(name: str, pixels: int, rows: int, rest: int) -> str:
    groups = [range(first, min(first + GROUP, rows * rest)) for first in range(0, rows * rest, GROUP)]
    lines = [
        f"/* The same of what {rows} kernel rows of {counted(pixels, 'pixel')} have left,"
        f" {counted(rest, 'byte')} each, joined. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        "    int16_t *v, const int8_t *const *x, int32_t offset, int32_t x_step)",
        "{",
        f"    for (int32_t i = 0; i < {pixels}; ++i, offset += x_step) {{",
        "        int32_t firsts, mixed;",
    ]
    for n, numbers in enumerate(groups):
        place = n * pixels * HALVES * FACTORS_EACH
        word = " |\n            ".join(
            _shifted(*divmod(number, rest), number % GROUP * 8) for number in numbers
        )
        lines += [
            f"        factors_of_word((int32_t)(\n            {word}),\n            &firsts, &mixed);",
            f"        memcpy(__builtin_assume_aligned({_factor(place)}, 4), &firsts, 4);",
            f"        memcpy(__builtin_assume_aligned({_factor(place + pixels * HALVES)}, 4), &mixed, 4);",
        ]
    return "\n".join([*lines, "    }", "}"]) + "\n"


def _shifted(row: int, place: int, shift: int) -> str:
    """Returns C code for a byte of a row, shifted to its position in a word."""
    byte = f"(uint32_t)(uint8_t)x[{row}][offset{f' + {place}' if place else ''}]"
    return f"{byte} << {shift}" if shift else byte


def _factor(place: int) -> str:
    return f"v{f' + {place}' if place else ''} + i * {HALVES}"


@lru_cache(maxsize=256)
def paired_dot(tile: PairedTile) -> Instruction:
    """sums[i][j] += all products of a pixel's window with a channel's weights."""
    sums = Buffer("sums", DType.I32, tile.pixels * tile.channels, Role.LOCAL)
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    w = Buffer("w", DType.I16, 0, Role.CONSTANT)
    n, i, j, h = (variable(name) for name in ("n", "i", "j", "h"))
    half_word = load(w, n * (tile.channels * HALVES) + j * HALVES + h)
    factors = tile_factors(v, tile.pixels, n, i, h, 0)
    adds = For("h", HALVES, products(at(sums, i * tile.channels + j), factors, half_word))
    tiles = For("i", tile.pixels, (For("j", tile.channels, (adds,)),))
    every = ", ".join(f"&{{sums[{number}]}}" for number in range(sums.elements))
    return Instruction(
        name=tile.name,
        params=(sums, v, w),
        body=(For("n", tile.groups, (tiles,)),),
        call=f"{tile.name}({every}, {{v}}, {{w}}{'' if tile.is_straight else ', {groups}'});",
        definition=_text(tile),
        includes=("arm_acle.h",),
        calls=(*_macros(tile), FACTOR_REGISTERS, _in_c(tile.pixels, tile.channels)),
        needs=NEEDS,
        machine_instructions=len(_turn_lines(tile)),
        numbers=() if tile.is_straight else (("groups", tile.groups),),
        is_asm=True,
        own_registers=len(_temps(tile)),
    )


def _group(tile: PairedTile) -> Iterator[str]:
    """Yields four products of each sum. With fewer than three pixels, all factors are loaded at once."""
    words, at_once = _WORDS[: tile.channels], tile.pixels < _MOST_PIXELS
    taken = _FACTORS[: tile.pixels * (FACTORS_EACH if at_once else 1)]
    yield _load_many("w", words)
    yield _load_many("v", taken)
    yield from _products(words, taken[: tile.pixels])
    yield from _low_bytes(words)
    if not at_once:
        yield _load_many("v", taken)
    yield from _products(words, taken[-tile.pixels :])


def _two_groups(tile: PairedTile) -> Iterator[str]:
    """Yields the same for three pixels and two groups, with fewer loads: factors are loaded in fours."""
    words, (p, q, e, f) = _WORDS[: tile.channels], _FACTORS
    yield _load_many("w", words)
    yield _load_many("v", _FACTORS)
    yield from (*_products(words, (p, q, e)), *_low_bytes(words), *_products(words, (f,)))
    yield _load_many("v", _FACTORS)
    yield from _products(words, (p, q), first=1)
    yield _load_many("w", words)
    yield from _products(words, (e, f))
    yield _load_many("v", _FACTORS)
    yield from (*_products(words, (p,), first=2), *_low_bytes(words), *_products(words, (q, e, f)))


def _load_many(pointer: str, registers: Sequence[str]) -> str:
    """Returns a load of consecutive words that advances the pointer."""
    each = ", ".join(f"%[{register}]" for register in registers)
    if len(registers) > 2:
        return f"ldm %[{pointer}]!, {{{each}}}"
    return f"{'ldrd' if len(registers) == 2 else 'ldr'} {each}, [%[{pointer}]], #{_WORD * len(registers)}"


def _low_bytes(words: Sequence[str]) -> Iterator[str]:
    return (f"sxtb16 %[{word}], %[{word}]" for word in words)


def _products(words: Sequence[str], factors: Sequence[str], first: int = 0) -> Iterator[str]:
    """Yields products of the pixels from `first` on, which have these factors."""
    for j, word in enumerate(words):
        for i, factor in enumerate(factors, first):
            yield f"smlad %[s{i}{j}], %[{factor}], %[{word}], %[s{i}{j}]"


def _temps(tile: PairedTile) -> list[str]:
    """Returns the registers of weights and factors that an iteration uses."""
    lines = "".join(_turn_lines(tile))
    return [name for name in (*_WORDS, *_FACTORS) if f"%[{name}]" in lines]


def _twos_and_ones(tile: PairedTile) -> tuple[int, int]:
    """Returns the groups of an iteration, in pairs and singly; pairs only if they save more than spills cost.

    Pairs use every register, and the end of a loop may need one more.
    """
    in_twos = tile.pixels == _MOST_PIXELS and tile.groups >= _LEAST_GROUPS and tile.is_straight
    return divmod(tile.unroll, 2) if in_twos else (0, tile.unroll)


def _turn_lines(tile: PairedTile) -> list[str]:
    twos, ones = _twos_and_ones(tile)
    return [*list(_two_groups(tile)) * twos, *list(_group(tile)) * ones]


def _declared(tile: PairedTile) -> list[str]:
    """Returns the declarations of these; factors are in registers that LDM can load."""
    words = [name for name in _temps(tile) if name in _WORDS]
    fixed = [f"{name} __asm__(REGISTER_{name.upper()})" for name in _temps(tile) if name in _FACTORS]
    return [f"    int32_t {', '.join(words)};", f"    register int32_t {', '.join(fixed)};"]


def _sums(pixels: int, channels: int) -> list[str]:
    return [f"sum{i}{j}" for i in range(pixels) for j in range(channels)]


def _text(tile: PairedTile) -> str:
    sums = _sums(tile.pixels, tile.channels)
    head, given = ("", str(tile.groups)) if tile.is_straight else (", int32_t groups", "groups")
    lines = [
        f"/* {counted(tile.pixels, 'pixel').capitalize()} and {counted(tile.channels, 'channel')},"
        f" four weights at a time, {unroll_text(tile.unroll, tile.is_straight)}. */",
        f"static inline __attribute__((always_inline)) void {tile.name}(",
        f"    {', '.join(f'int32_t *{s}' for s in sums)},",
        f"    const int16_t *v, const int16_t *w{head})",
        "{",
        "#ifdef FEW_REGISTERS",
        f"    {_name_in_c(tile.pixels, tile.channels)}({', '.join(sums)}, v, w, {given});",
        "#else",
        *_declared(tile),
        *(_straight(tile) if tile.is_straight else _looped(tile)),
        "#endif",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _macro_name(tile: PairedTile, groups: int) -> str:
    return f"DOT_{tile.pixels}X{tile.channels}_{'TWO_GROUPS' if groups == 2 else 'GROUP'}"


def _turn_macros(tile: PairedTile) -> list[str]:
    """Returns the macros of an iteration in order."""
    twos, ones = _twos_and_ones(tile)
    return [_macro_name(tile, 2)] * twos + [_macro_name(tile, 1)] * ones


def _macros(tile: PairedTile) -> list[Instruction]:
    twos, ones = _twos_and_ones(tile)
    return [_macro(_macro_name(tile, n), tile) for n, is_used in ((2, twos), (1, ones)) if is_used]


def _macro(name: str, tile: PairedTile) -> Instruction:
    """Returns assembly that functions of several lengths share."""
    lines = _two_groups(tile) if name.endswith("TWO_GROUPS") else _group(tile)
    return Instruction(name, (), (), "", "\n".join(macro(name, list(lines))) + "\n", needs=NEEDS)


def _straight(tile: PairedTile) -> list[str]:
    return ["    __asm__ volatile(", *_turn(tile), *_operands(tile), '        : : "memory");']


def _looped(tile: PairedTile) -> list[str]:
    """Returns the loop. Its end is in memory, and compared in a register that is free at that point."""
    return [
        f"    const int16_t *const end = w + groups * {tile.channels * HALVES};",
        "    __asm__ volatile(",
        '        "1:\\n\\t"',
        *_turn(tile),
        '        "ldr %[p], %[end]\\n\\t" "cmp %[w], %[p]\\n\\t" "bne 1b\\n\\t"',
        *_operands(tile),
        '        : [end] "m"(end)',
        '        : "memory", "cc");',
        *END_OF_BLOCK,
    ]


def _turn(tile: PairedTile) -> list[str]:
    macros = _turn_macros(tile)
    return [f"        {' '.join(macros[first : first + 5])}" for first in range(0, len(macros), 5)]


def _operands(tile: PairedTile) -> list[str]:
    sums = _sums(tile.pixels, tile.channels)
    return [
        f"        : {', '.join(f'[s{s[3:]}] {chr(34)}+r{chr(34)}(*{s})' for s in sums)},",
        '          [v] "+r"(v), [w] "+r"(w),',
        f"          {', '.join(f'[{t}] {chr(34)}=&r{chr(34)}({t})' for t in _temps(tile))}",
    ]


def _name_in_c(pixels: int, channels: int) -> str:
    return f"paired_dot_{pixels}x{channels}_in_c"


@lru_cache(maxsize=16)
def _in_c(pixels: int, channels: int) -> Instruction:
    """Returns the same in intrinsics, for compilers that allocate registers themselves."""
    sums = _sums(pixels, channels)
    lines = [
        "#ifdef FEW_REGISTERS",
        f"static inline __attribute__((always_inline)) void {_name_in_c(pixels, channels)}(",
        f"    {', '.join(f'int32_t *{s}' for s in sums)},",
        "    const int16_t *v, const int16_t *w, int32_t groups)",
        "{",
        "    for (int32_t n = 0; n < groups; ++n) {",
    ]
    for j in range(channels):
        lines.append(f"        const int32_t w{j} = two_halves(w{f' + {j * HALVES}' if j else ''});")
    for i in range(pixels):
        first, mixed = (place * HALVES for place in (i, pixels + i))
        lines.append(
            f"        const int32_t x{i} = two_halves(v{f' + {first}' if first else ''}),"
            f" m{i} = two_halves(v + {mixed});"
        )
        for j in range(channels):
            lines.append(
                f"        *sum{i}{j} = __smlad(m{i}, __sxtb16(w{j}), __smlad(x{i}, w{j}, *sum{i}{j}));"
            )
    lines += [
        f"        v += {pixels * HALVES * FACTORS_EACH};",
        f"        w += {channels * HALVES};",
        "    }",
        "}",
        "#endif",
    ]
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
