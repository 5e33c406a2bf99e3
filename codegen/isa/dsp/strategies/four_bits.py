"""Dot products by SMLAD with halfwords of four weights: two pixels by four channels, or one by eight.

A word of eight weights serves four channels: unchanged, and three times without its highest digits. For two
pixels, 16 products need 14 instructions and 15 cycles of a Cortex-M4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from aot.ir.types import DType
from aot.target import Optimize
from aot.wording import counted
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.dsp.needs import NEEDS, UNROLLED_HOT, is_hot, needs_of
from codegen.isa.dsp.paired_vector import macro
from codegen.isa.dsp.strategies.paired_weights import scratch_limit
from codegen.isa.dsp.winograd import TWO_HALVES
from codegen.kernels.dot_product import DotProblem, ScheduledDot, task_of
from codegen.kernels.four_bit_weights import (
    CHANNELS,
    FOUR_BITS,
    GROUP,
    HALVES,
    SumTile,
    WindowOfPairs,
    bytes_of_pixel,
    channel_tiles,
    four_bit_nest,
    half_words,
    sums_nest,
    tail_of_digits,
    widening_nest,
    window_of,
)
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Space
from codegen.kernels.requantised import Requantised
from codegen.loops.affine import Affine
from codegen.loops.ir import Buffer, Instruction, Role, ScalarFunction
from codegen.loops.tensorize import tensorize

_WORD = 4
_VALUES = "pq"  # registers of values; weights are in a
_FIRST_DIGITS = ("0xf000f000", "0xf000f00", "0xf000f0")  # masks of the digits removed, one after the other

BALANCING_PAIR = ScalarFunction(
    "balancing_pair",
    DType.I32,
    """\
/* A half that takes of a rest what it holds. */
static inline int32_t balancing_half(int32_t *rest)
{
    const int32_t half = *rest < -32768 ? -32768 : *rest > 32767 ? 32767 : *rest;
    *rest -= half;
    return half;
}

static inline int32_t balancing_pair(int32_t *rest)
{
    const int32_t first = balancing_half(rest), second = balancing_half(rest);
    return (int32_t)((uint32_t)second << 16 | ((uint32_t)first & 0xffff));
}
""",
    lambda *_: 0,
)


@dataclass(frozen=True, slots=True)
class FourBitTile:
    """The sums of a tile over the pairs of a window."""

    shape: SumTile
    window: WindowOfPairs
    most_unrolled: int  # pairs per iteration

    @property
    def unroll(self) -> int:
        """Returns the largest unrolling that leaves at most one pair after the last iteration."""
        pairs = self.window.pairs
        return max(u for u in range(1, min(self.most_unrolled, pairs) + 1) if pairs % u <= 1)

    @property
    def turns(self) -> int:
        return self.window.pairs // self.unroll

    @property
    def rest(self) -> int:
        """Returns the pairs after the last iteration."""
        return self.window.pairs % self.unroll

    @property
    def is_straight(self) -> bool:
        """Returns True if all pairs are unrolled, without a loop."""
        return self.turns == 1

    @property
    def name(self) -> str:
        if self.is_straight:
            return f"four_bit_dot_{self.shape.pixels}x{self.shape.words * CHANNELS}_{self.window.pairs}_once"
        rest = f"_and_{self.rest}" if self.rest else ""
        return f"four_bit_dot_{self.shape.pixels}x{self.shape.words * CHANNELS}_by_{self.unroll}{rest}"


@lru_cache(maxsize=256)
def widened(pixels: int, x_step: int, window: WindowOfPairs, is_aligned: bool) -> Instruction:
    """Returns an instruction that writes the values of a tile of pixels in pairs."""
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    is_one_row = window.kernel_rows == 1
    x = Buffer("x", DType.I8, 0, Role.INPUT if is_one_row else Role.ROWS, window.kernel_rows)
    shape = f"{window.kernel_rows}x{window.groups_of_row * GROUP}"
    name = f"four_bit_values_{pixels}_step{x_step}_of_{shape}{'' if is_aligned else '_unaligned'}"
    zero = Affine()
    return Instruction(
        name=name,
        params=(v, x),
        body=(widening_nest(window, pixels, x_step, (v, x), (zero, zero)),),
        call=f"{name}({{v}}, {'{x}' if is_one_row else '{x_array}, {x_offset}'});",
        definition=_values_text(name, pixels, x_step, window),
        includes=("arm_acle.h", "string.h"),
        calls=(BALANCING_PAIR,),
        needs=needs_of(is_aligned),
        machine_instructions=40,
    )


def _values_text(name: str, pixels: int, x_step: int, window: WindowOfPairs) -> str:
    each, of_row = pixels * HALVES, window.groups_of_row
    is_one_row = window.kernel_rows == 1
    x = "const int8_t *x" if is_one_row else "const int8_t *const *x, int32_t offset"
    step = f"{'x' if is_one_row else 'offset'} += {x_step}"
    at_once = 2 if of_row % 2 == 0 else 1  # groups per iteration
    widens = [f"for (int32_t n = 0; n < {of_row // at_once}; ++n) {{", "    int32_t word, odd;"]
    for n in range(at_once):
        places = (2 * n * each, (2 * n + 1) * each)
        even, odd = (f"to + {place}" if place else "to" for place in places)
        widens += [
            f"    memcpy(&word, from{f' + {n * GROUP}' if n else ''}, sizeof word);",
            '    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(word));',
            "    word = __sxtb16(word);",
            "    rest = __smlad(odd, -1, __smlad(word, -1, rest));",
            f"    memcpy(__builtin_assume_aligned({even}, 4), &word, 4);",
            f"    memcpy(__builtin_assume_aligned({odd}, 4), &odd, 4);",
        ]
    widens += [f"    to += {2 * each * at_once};", f"    from += {GROUP * at_once};", "}"]
    in_rows = [
        f"for (int32_t r = 0; r < {window.kernel_rows}; ++r) {{",
        "    const int8_t *from = x[r] + offset;",
        *(f"    {line}" for line in widens),
        "}",
    ]
    lines = [
        f"/* Values of {counted(pixels, 'window')}, {x_step} bytes apart, in pairs, and what makes"
        " their sum 0. */",
        f"static inline void {name}(int16_t *v, {x})",
        "{",
        f"    for (int32_t i = 0; i < {pixels}; ++i, {step}) {{",
        f"        int16_t *to = v + i * {HALVES};",
        "        int32_t rest = 0;",
        *(["        const int8_t *from = x;"] if is_one_row else []),
        *(f"        {line}" for line in (widens if is_one_row else in_rows)),
        f"        for (int32_t n = 0; n < {window.balancing_pairs}; ++n, to += {each}) {{",
        "            const int32_t pair = balancing_pair(&rest);",
        "            memcpy(__builtin_assume_aligned(to, 4), &pair, 4);",
        "        }",
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=256)
def four_bit_dot(tile: FourBitTile) -> Instruction:
    """sums[i][j] += all products of a pixel's values with halfwords, from their digit j on."""
    shape = tile.shape
    sums = Buffer("sums", DType.I32, shape.sums, Role.LOCAL)
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    w = Buffer("w", DType.I16, 0, Role.CONSTANT)
    every = ", ".join(f"&{{sums[{number}]}}" for number in range(shape.sums))
    zero = Affine()
    return Instruction(
        name=tile.name,
        params=(sums, v, w),
        body=(sums_nest(tile.window, shape, (sums, v, w), (zero, zero)),),
        call=f"{tile.name}({every}, {{v}}, {{w}}{'' if tile.is_straight else ', {turns}'});",
        definition=_text(tile),
        includes=("arm_acle.h",),
        calls=(FEW_REGISTERS, TWO_HALVES),
        needs=NEEDS,
        machine_instructions=len(list(_pair(shape))) * (tile.unroll + tile.rest),
        numbers=() if tile.is_straight else (("turns", tile.turns),),
        is_asm=True,
        own_registers=len(_temps(shape)),
    )


def _sums(shape: SumTile) -> list[str]:
    return [f"s{i}{j}" for i in range(shape.pixels) for j in range(shape.words * CHANNELS)]


def _pair(shape: SumTile) -> Iterator[str]:
    """Yields two products of each sum. Loads are grouped; pointers advance in loads that no line waits for.

    Several words use the same register one after the other, because gcc cannot always find another one.
    """
    for number in range(shape.pixels - 1, 0, -1):
        yield f"ldr %[{_VALUES[number]}], [%[v], #{_WORD * number}]"
    yield f"ldr %[{_VALUES[0]}], [%[v]], #{_WORD * shape.pixels}"
    for place in range(shape.words):
        yield f"ldr %[a], [%[w]], #{_WORD}"
        for digit in range(CHANNELS):
            if digit:
                yield f"bic %[a], %[a], #{_FIRST_DIGITS[digit - 1]}"
            for i, value in enumerate(_VALUES[: shape.pixels]):
                total = f"%[s{i}{place * CHANNELS + digit}]"
                yield f"smlad {total}, %[{value}], %[a], {total}"


def _temps(shape: SumTile) -> list[str]:
    """Returns the registers of a word and of values."""
    return ["a", *_VALUES[: shape.pixels]]


def _text(tile: FourBitTile) -> str:
    shape, sums = tile.shape, _sums(tile.shape)
    temps = _temps(shape)
    pair = f"{tile.name.upper()}_PAIR"
    lines = [
        *macro(pair, list(_pair(shape))),
        f"/* Sums of {counted(shape.pixels, 'pixel')} and {counted(shape.words * CHANNELS, 'channel')}"
        " with eight weights of four bits to a word. */",
        f"static inline __attribute__((always_inline)) void {tile.name}(",
        f"    {', '.join(f'int32_t *sum{s[1:]}' for s in sums)},",
        f"    const int16_t *v, const int16_t *w{'' if tile.is_straight else ', int32_t turns'})",
        "{",
        f"    int32_t {', '.join(f'{s} = *sum{s[1:]}' for s in sums)};",
        "#ifdef FEW_REGISTERS",
        *_in_c(tile),
        "#else",
        f"    int32_t {', '.join(temps)};",
        *(_straight(tile, pair) if tile.is_straight else _looped(tile, pair)),
        f"        : {', '.join(f'[{s}] {chr(34)}+r{chr(34)}({s})' for s in sums)},",
        '          [v] "+r"(v), [w] "+r"(w),',
        f"          {', '.join(f'[{t}] {chr(34)}=&r{chr(34)}({t})' for t in temps)}",
        *(
            ['        : : "memory");']
            if tile.is_straight
            else ['        : [end] "m"(end)', '        : "memory", "cc");']
        ),
        "#endif",
        *(f"    *sum{s[1:]} = {s};" for s in sums),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _straight(tile: FourBitTile, pair: str) -> list[str]:
    return ["    __asm__ volatile(", *_repeated(pair, tile.window.pairs)]


def _looped(tile: FourBitTile, pair: str) -> list[str]:
    """Returns the loop. Its end is in memory, and compared in a register that is free at that point."""
    return [
        f"    const int16_t *const end = w + turns * {tile.unroll * tile.shape.words * HALVES};",
        "    __asm__ volatile(",
        '        "1:\\n\\t"',
        *_repeated(pair, tile.unroll),
        '        "ldr %[p], %[end]\\n\\t" "cmp %[w], %[p]\\n\\t" "bne 1b\\n\\t"',
        *_repeated(pair, tile.rest),
    ]


def _repeated(macro_name: str, times: int) -> list[str]:
    names = [macro_name] * times
    return [f"        {' '.join(names[first : first + 2])}" for first in range(0, times, 2)]


def _in_c(tile: FourBitTile) -> list[str]:
    """Returns the same in intrinsics, for compilers that allocate registers themselves."""
    shape = tile.shape
    rest = f" + {tile.rest}" if tile.rest else ""
    pairs = str(tile.window.pairs) if tile.is_straight else f"turns * {tile.unroll}{rest}"
    lines = [f"    for (int32_t n = 0; n < {pairs}; ++n) {{"]
    lines += [
        f"        const int32_t x{i} = two_halves(v{f' + {i * HALVES}' if i else ''});"
        for i in range(shape.pixels)
    ]
    for q in range(shape.words):
        lines.append(f"        int32_t w{q} = two_halves(w{f' + {q * HALVES}' if q else ''});")
        for digit in range(CHANNELS):
            if digit:
                lines.append(f"        w{q} &= ~{_FIRST_DIGITS[digit - 1]};")
            for i in range(shape.pixels):
                total = f"s{i}{q * CHANNELS + digit}"
                lines.append(f"        {total} = __smlad(x{i}, w{q}, {total});")
    lines += [
        f"        v += {shape.pixels * HALVES};",
        f"        w += {shape.words * HALVES};",
        "    }",
    ]
    return lines


_KNOBS = (Knob("unroll", (1, 2, 3, 4, 6, 8, 12, 16), is_written_out=True),)
_ROWS, _VECTOR = SumTile(2, 1), SumTile(1, 2)
_UNROLLED = 8  # pairs, if code and time are equally important
_UNROLLED_REST = 4  # for the remainder of tiles
_LEAST_VALUES = 32  # of a window; shorter sums are faster with 8-bit weights


def four_bit_tail(site: Site, tail: Requantised, window: WindowOfPairs) -> Requantised | None:
    """Returns the tail of an int8 layer if its weights and sums permit it, on single-issue cores."""
    bytes_only = site.input(0).dtype is site.input(1).dtype is site.outputs[0].dtype is DType.I8
    is_wanted = (
        bytes_only
        and site.optimize is not Optimize.RAM  # 16-bit values in scratch need more RAM than int8 rows
        and (site.optimize is Optimize.SIZE or window.kernel_rows * window.length >= _LEAST_VALUES)
        and not site.target.pairs_instructions
    )
    return tail_of_digits(tail, site.constants[1], window) if is_wanted else None


def four_bit_dots(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for rows of pixels or a vector, with values in scratch."""
    window, tile = window_of(p), _VECTOR if p.pixels == 1 else _ROWS
    space = _space(p, site.optimize, site.macs)
    point = space.chosen(site.tuned)
    proc = four_bit_nest(p, tile, max(scratch_limit(site), bytes_of_pixel(window)))
    pixels = range(tile.pixels, 0, -1)
    proc = tensorize(proc, "fi", [widened(i, p.x_step, window, p.x_aligned) for i in pixels])
    words = {part.words for part in channel_tiles(p.channels, tile.words)}
    shapes = [SumTile(i, q) for i in pixels for q in sorted(words)]
    dots = [
        four_bit_dot(FourBitTile(shape, window, _unroll(shape, tile, point["unroll"]))) for shape in shapes
    ]
    why = f"{tile.pixels} x {tile.words * CHANNELS} sums per tile, weights of four bits, 8-bit rows"
    return ScheduledDot(
        "smlad",
        why,
        tensorize(proc, "n", dots),
        space=space,
        point=point,
        elements=lambda weights: half_words(weights, window, tile.words),
    )


def _unroll(shape: SumTile, whole: SumTile, unroll: int) -> int:
    return unroll if shape == whole else min(unroll, _UNROLLED_REST)


def _space(p: DotProblem, goal: Optimize, macs: int) -> Space:
    unrolled = 1 if goal is Optimize.SIZE else UNROLLED_HOT if is_hot(macs) else _UNROLLED
    extents = {"unroll": window_of(p).pairs}
    return Space(f"{task_of(p)} {FOUR_BITS}", _KNOBS, {"unroll": unrolled}, extents=extents)
