"""Cortex-M DSP extension: halfwords of two weights: factors of pixels, dot products of a vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aot.ir.types import DType
from aot.wording import counted
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.dsp.dot_tile import UNROLLS, unroll_text
from codegen.isa.dsp.needs import NEEDS, needs_of
from codegen.isa.dsp.winograd import TWO_HALVES
from codegen.kernels.paired_rows import FACTORS as FACTORS_EACH
from codegen.kernels.paired_rows import factors_nest, rests_nest
from codegen.kernels.paired_weights import GROUP, HALVES, products_nest
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, For, Instruction, Role, ScalarFunction, at, load

_WORD = 4
_WORDS = "abc"  # registers of consecutive weights; with six sums they leave the compiler one register

FACTORS_OF_WORD = ScalarFunction(
    "factors_of_word",
    DType.I32,
    """\
/* Two weights per factor. The half-word 256 * a + b holds two neighbouring weights: it is a factor of SMLAD
   as it is in memory, and b alone is its low byte, widened. With the pixels x and y that a and b belong to,

       (256 * a + b) * x  +  b * (256 * y + 127 - x)  =  256 * (a * x + b * y)  +  127 * b

   so that one SMLAD by `firsts` (x of two half-words) and one by `mixed` (256 * y + 127 - x of two) make
   four products. Sums are 256 times as large, and 127 * b too much for each half-word: their starts take that
   away. In memory x and y are the half-word 256 * y + (x as a byte), and turning over the low seven bits of x
   makes 127 - x of it. */
static inline __attribute__((always_inline)) void factors_of_word(
    int32_t word, int32_t *firsts, int32_t *mixed)
{
    *firsts = __sxtb16(word);
    *mixed = word ^ 0x7f007f;
}
""",
    lambda *_: 0,
    includes=("arm_acle.h",),
)

FACTORS = ScalarFunction(
    "factors_of_pixels",
    DType.I32,
    """\
/* The factors of four bytes. */
static inline __attribute__((always_inline)) void factors_of_pixels(
    const int8_t *x, int32_t *firsts, int32_t *mixed)
{
    int32_t word;
    memcpy(&word, x, sizeof word);
    factors_of_word(word, firsts, mixed);
}
""",
    lambda *_: 0,
    includes=("string.h",),
    calls=(FACTORS_OF_WORD,),
)


@dataclass(frozen=True, slots=True)
class PairedVector:
    """Sums of `channels` over `groups` groups of four."""

    channels: int  # up to 6
    groups: int
    most_unrolled: int  # groups per iteration
    x_aligned: bool

    @property
    def unroll(self) -> int:
        return max(u for u in UNROLLS if u <= self.most_unrolled and self.groups % u == 0)

    @property
    def name(self) -> str:
        return f"paired_vector_dot_{self.channels}_by_{self.unroll}{'' if self.x_aligned else '_unaligned'}"


@lru_cache(maxsize=256)
def vector_dot(tile: PairedVector) -> Instruction:
    """sums[j] += all products of the vector with a channel's weights."""
    sums = Buffer("sums", DType.I32, tile.channels, Role.LOCAL)
    x = Buffer("x", DType.I8, 0, Role.INPUT)
    w = Buffer("w", DType.I16, 0, Role.CONSTANT)
    n, j, h = (variable(name) for name in ("n", "j", "h"))
    weights = load(w, n * (tile.channels * HALVES) + j * HALVES + h)
    products = products_nest(at(sums, j), x, n * GROUP, weights)
    every = ", ".join(f"&{{sums[{number}]}}" for number in range(sums.elements))
    return Instruction(
        name=tile.name,
        params=(sums, x, w),
        body=(For("n", tile.groups, (For("j", tile.channels, (products,)),)),),
        call=f"{tile.name}({every}, {{x}}, {{w}}, {{groups}});",
        definition=_text(tile),
        includes=("arm_acle.h",),
        calls=(FEW_REGISTERS, TWO_HALVES, FACTORS),
        needs=needs_of(tile.x_aligned),
        machine_instructions=len(list(_group(tile))) * tile.unroll,
        numbers=(("groups", tile.groups),),
        is_asm=True,
        own_registers=len(_temps(tile)),
    )


def _group(tile: PairedVector) -> Iterator[str]:
    """Yields the group. Loads are consecutive; the vector's load comes before the first weights."""
    yield "ldr %[p], [%[x]], #4"
    for first in range(0, tile.channels, len(_WORDS)):
        words = [f"%[{name}]" for name in _WORDS[: tile.channels - first]]
        sums = [f"%[s{first + n}]" for n in range(len(words))]
        yield from (f"ldr {w}, [%[w], #{_WORD * n}]" for n, w in enumerate(words) if n)
        yield f"ldr {words[0]}, [%[w]], #{_WORD * len(words)}"
        if first == 0:
            yield from ("sxtb16 %[q], %[p]", "eor %[p], %[p], #0x7f007f")
        yield from (f"smlad {s}, %[q], {w}, {s}" for s, w in zip(sums, words, strict=True))
        yield from (f"sxtb16 {w}, {w}" for w in words)
        yield from (f"smlad {s}, %[p], {w}, {s}" for s, w in zip(sums, words, strict=True))


def macro(name: str, lines: list[str]) -> list[str]:
    *most, last = (f'    "{line}\\n\\t"' for line in lines)
    return [f"#define {name} \\", *(f"{line} \\" for line in most), last]


def _temps(tile: PairedVector) -> list[str]:
    """Returns the registers of weights and factors."""
    return [*_WORDS[: tile.channels], "p", "q"]


def _text(tile: PairedVector) -> str:
    sums = [f"s{j}" for j in range(tile.channels)]
    turn = f"{tile.name.upper()}_TURN"
    temps = _temps(tile)
    lines = [
        *macro(turn, list(_group(tile)) * tile.unroll),
        f"/* Sums of {counted(tile.channels, 'channel')}{'' if tile.x_aligned else ' of x at any address'},"
        f" four weights at a time, {unroll_text(tile.unroll, False)}:"
        " SMLAD by half-words, then by their low bytes. */",
        f"static inline __attribute__((always_inline)) void {tile.name}(",
        f"    {', '.join(f'int32_t *sum{j}' for j in range(tile.channels))},",
        "    const int8_t *x, const int16_t *w, int32_t groups)",
        "{",
        f"    int32_t {', '.join(f's{j} = *sum{j}' for j in range(tile.channels))};",
        "#ifdef FEW_REGISTERS",
        *_in_c(tile),
        "#else",
        f"    int32_t {', '.join(temps)};",
        f"    const int16_t *const end = w + groups * {tile.channels * HALVES};",
        "    __asm__ volatile(",
        f'        "1:\\n\\t" {turn}',
        '        "ldr %[p], %[end]\\n\\t" "cmp %[w], %[p]\\n\\t" "bne 1b\\n\\t"',
        f"        : {', '.join(f'[{s}] {chr(34)}+r{chr(34)}({s})' for s in sums)},",
        '          [x] "+r"(x), [w] "+r"(w),',
        f"          {', '.join(f'[{t}] {chr(34)}=&r{chr(34)}({t})' for t in temps)}",
        '        : [end] "m"(end)',
        '        : "memory", "cc");',
        "#endif",
        *(f"    *sum{j} = s{j};" for j in range(tile.channels)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _in_c(tile: PairedVector) -> list[str]:
    """Returns the same in intrinsics, for compilers that allocate registers themselves."""
    lines = [
        "    for (int32_t n = 0; n < groups; ++n) {",
        "        int32_t firsts, mixed;",
        "        factors_of_pixels(x, &firsts, &mixed);",
    ]
    for j in range(tile.channels):
        lines += [
            f"        const int32_t w{j} = two_halves(w{f' + {j * HALVES}' if j else ''});",
            f"        s{j} = __smlad(mixed, __sxtb16(w{j}), __smlad(firsts, w{j}, s{j}));",
        ]
    return [*lines, f"        x += {GROUP};", f"        w += {tile.channels * HALVES};", "    }"]


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
        machine_instructions=3 * rows * rest + 4 * -(-rows * rest // GROUP) + 4,
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
