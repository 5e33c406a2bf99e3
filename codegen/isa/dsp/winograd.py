"""Cortex-M DSP extension: Winograd's transformation of pixels, and its products, two channels at a time.

A word holds two channels of a pixel, so that SADD16 and SSUB16 transform both. The products have eight sums
in registers, of four tiles and two output channels; with two pointers and four factors these are all
registers. Consecutive single loads need one cycle each and paired loads three, so each is used where it costs
least: twelve instructions and sixteen cycles of a Cortex-M4 for sixteen products.
"""

from __future__ import annotations

from functools import lru_cache

from aot.ir.types import DType
from codegen.isa.asm import FEW_REGISTERS, Address, AsmLine, computes, in_order, loads, operand
from codegen.isa.dsp.needs import IN_PAIRS, NEEDS
from codegen.kernels.winograd import POSITIONS, Blocks, input_nest, products_nest
from codegen.loops.ir import Buffer, Instruction, Role, ScalarFunction

PAIR = 2  # channels per 32-bit word
TILES = 4
PAIRED = Blocks(TILES, PAIR, PAIR)
MOST_STRAIGHT = 16  # unrolled pairs of channels


TWO_HALVES = ScalarFunction(
    "two_halves",
    DType.I32,
    """\
/* A word of two values. */
static inline int32_t two_halves(const int16_t *x)
{
    int32_t both;
    __builtin_memcpy(&both, __builtin_assume_aligned(x, 4), 4);
    return both;
}
""",
    lambda *_: 0,
)

COLUMN = ScalarFunction(
    "winograd_column",
    DType.I32,
    """\
struct winograd_column {
    int32_t row0, row1, row2, row3;
};

/* Four pixels one below the other, two channels of each, combined: p0 - p2, p1 + p2, p2 - p1, p1 - p3. */
static inline struct winograd_column winograd_column(
    const int16_t *x0, const int16_t *x1, const int16_t *x2, const int16_t *x3)
{
    const int32_t p0 = two_halves(x0), p1 = two_halves(x1), p2 = two_halves(x2), p3 = two_halves(x3);
    const int32_t row0 = __ssub16(p0, p2), row1 = __sadd16(p1, p2);
    const int32_t row2 = __ssub16(p2, p1), row3 = __ssub16(p1, p3);
    return (struct winograd_column){row0, row1, row2, row3};
}
""",
    lambda *_: 0,
    includes=("arm_acle.h",),
    calls=(TWO_HALVES,),
    needs=NEEDS,
)

TILE = ScalarFunction(
    "winograd_tile",
    DType.I32,
    """\
static inline void winograd_row(int16_t *v, int32_t a, int32_t b, int32_t c, int32_t d)
{
    const int32_t position[4] = {__ssub16(a, c), __sadd16(b, c), __ssub16(c, b), __ssub16(b, d)};
    for (int32_t n = 0; n < 4; ++n) {
        __builtin_memcpy(__builtin_assume_aligned(v + n * 8, 4), &position[n], 4);
    }
}

/* The transformed pixels of a tile, from its four columns. */
static inline void winograd_tile(
    int16_t *v, const struct winograd_column *a, const struct winograd_column *b,
    const struct winograd_column *c, const struct winograd_column *d)
{
    winograd_row(v, a->row0, b->row0, c->row0, d->row0);
    winograd_row(v + 32, a->row1, b->row1, c->row1, d->row1);
    winograd_row(v + 64, a->row2, b->row2, c->row2, d->row2);
    winograd_row(v + 96, a->row3, b->row3, c->row3, d->row3);
}
""",
    lambda *_: 0,
    calls=(COLUMN,),
    needs=NEEDS,
)


@lru_cache(maxsize=64)
def input_of_pair(x_step: int) -> Instruction:
    """Computes V of two channels of four tiles, whose pixels are `x_step` elements apart."""
    x = Buffer("x", DType.I16, 0, Role.ROWS, 4)
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    name = f"winograd_input_step{x_step}"
    return Instruction(
        name=name,
        params=(v, x),
        body=(input_nest(PAIRED, v, x, x_step, 0, 0),),
        call=f"{name}({{v}}, {{x_array}}, {{x_offset}});",
        definition=_INPUT.replace("NAME", name).replace("STEP", str(x_step)),
        includes=("arm_acle.h",),
        calls=(TILE,),
        needs=NEEDS,
        machine_instructions=130,
    )


_INPUT = """\
/* Two channels of four tiles, pixels STEP elements apart: a tile takes two columns over from the last. */
static inline void NAME(int16_t *v, const int16_t *const *x, int32_t offset)
{
    const int16_t *x0 = x[0] + offset, *x1 = x[1] + offset, *x2 = x[2] + offset, *x3 = x[3] + offset;
    struct winograd_column a = winograd_column(x0, x1, x2, x3);
    struct winograd_column b = winograd_column(x0 + STEP, x1 + STEP, x2 + STEP, x3 + STEP);
    for (int32_t pair = 0; pair < 2; ++pair) {
        x0 += 2 * STEP, x1 += 2 * STEP, x2 += 2 * STEP, x3 += 2 * STEP;
        const struct winograd_column c = winograd_column(x0, x1, x2, x3);
        const struct winograd_column d = winograd_column(x0 + STEP, x1 + STEP, x2 + STEP, x3 + STEP);
        winograd_tile(v, &a, &b, &c, &d);
        x0 += 2 * STEP, x1 += 2 * STEP, x2 += 2 * STEP, x3 += 2 * STEP;
        a = winograd_column(x0, x1, x2, x3);
        b = winograd_column(x0 + STEP, x1 + STEP, x2 + STEP, x3 + STEP);
        winograd_tile(v + 2, &c, &d, &a, &b);
        v += 4;
    }
}
"""


def longest_turn(pairs: int) -> int:
    """Returns the largest unrolling that divides the number of pairs."""
    return next(count for count in range(MOST_STRAIGHT, 0, -1) if pairs % count == 0)


@lru_cache(maxsize=64)
def products_of_pair(pairs: int, turn: int, in_pairs: bool = False) -> Instruction:
    """Returns all sixteen products of four tiles and two output channels, over `pairs` input channel pairs.

    `turn` of them are unrolled per iteration, for dual-issue cores (`in_pairs`) in the order that suits them.
    """
    m = Buffer("m", DType.I32, 0, Role.SCRATCH)
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    w = Buffer("w", DType.I16, 0, Role.CONSTANT)
    by = "" if turn == longest_turn(pairs) else f"_by_{turn * PAIR}"
    name = f"winograd_products_{pairs * PAIR}{by}{'_in_pairs' if in_pairs else ''}"
    return Instruction(
        name=name,
        params=(m, v, w),
        body=(products_nest(PAIRED, m, v, w, pairs, 0),),
        call=f"{name}({{m}}, {{v}}, {{w}});",
        definition=_products(name, pairs, turn, in_pairs),
        includes=("arm_acle.h",),
        calls=(FEW_REGISTERS, TWO_HALVES),
        needs=NEEDS,
        machine_instructions=12 * turn + 30,
        is_asm=True,
        own_registers=len(_TEMPORARY) + (len(_SUMS) if turn == pairs else 0),
    )


_TEMPORARY = ("a", "b", "p", "q")
_SUMS = tuple(f"s{tile}{channel}" for tile in range(TILES) for channel in range(PAIR))


def _step(sets: bool) -> list[AsmLine]:
    """Returns sixteen products: the weights of two channels, two tiles at a time."""
    v = operand("v")
    lines = [loads("ldrd", (operand("a"), operand("b")), Address(operand("w"), 8, moves=True))]
    lines += [loads("ldr", (operand("p"),), Address(v, 8)), loads("ldr", (operand("q"),), Address(v, 12))]
    lines += _four(2, sets)
    lines += [loads("ldrd", (operand("p"), operand("q")), Address(v, 2 * PAIRED.v_of_word, moves=True))]
    return lines + _four(0, sets)


def _turn_in_pairs(turn: int, is_straight: bool) -> list[AsmLine]:
    """Returns all steps of an iteration for dual-issue cores, which load words one by one."""
    v, w = operand("v"), operand("w")
    lines = []
    for n in range(turn):
        lines += [loads("ldr", (operand("a"),), Address(w, 8, moves=True))]
        lines += [loads("ldr", (operand("b"),), Address(w, -4))]
        for tile in (2, 0):
            place = n * 2 * PAIRED.v_of_word + tile * 4
            lines += [loads("ldr", (operand("p"),), Address(v, place))]
            lines += [loads("ldr", (operand("q"),), Address(v, place + 4))]
            lines += _four(tile, sets=is_straight and n == 0)
    moved = [] if is_straight else [computes("add", v, v, end=f"#{turn * 2 * PAIRED.v_of_word}")]
    return [*in_order(lines, IN_PAIRS), *moved]


def _four(first: int, sets: bool) -> list[AsmLine]:
    """Returns the products of two tiles, with the first one's pixels in p; they set sums or add to them."""
    return [
        _product(operand(f"s{first + tile}{channel}"), operand(x), operand(w), sets)
        for channel, w in enumerate("ab")
        for tile, x in enumerate("pq")
    ]


def _product(total: str, x: str, w: str, sets: bool) -> AsmLine:
    return computes("smuad", total, x, w) if sets else computes("smlad", total, x, w, total)


def _macro(name: str, lines: list[AsmLine]) -> list[str]:
    *most, last = (f'    "{line.text}\\n\\t"' for line in lines)
    return [f"#define {name} \\", *(f"{line} \\" for line in most), last]


def _products(name: str, pairs: int, turn: int, in_pairs: bool) -> str:
    is_straight = turn == pairs
    macros, uses = _turn(name.upper(), turn, is_straight, in_pairs)
    lines = [
        *macros,
        f"/* Sixteen products of four tiles for two channels, over {pairs * PAIR} channels. */",
        f"static inline void {name}(int32_t *m, const int16_t *v, const int16_t *w)",
        "{",
        f"    for (int32_t position = 0; position < {POSITIONS}; ++position) {{",
        "#ifdef FEW_REGISTERS",
        *_in_c(pairs),
        "#else",
        *(_straight(uses) if is_straight else _in_turns(uses, pairs)),
        "#endif",
        *(f"        m[{n}] = {s};" for n, s in enumerate(_SUMS)),
        f"        m += {PAIRED.sums};",
        f"        v += {PAIRED.record};",
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _turn(name: str, turn: int, is_straight: bool, in_pairs: bool) -> tuple[list[str], list[str]]:
    """Returns the macros of an iteration's assembly, and the iteration; a straight one sets sums first."""
    if in_pairs:
        return _macro(f"{name}_TURN", _turn_in_pairs(turn, is_straight)), [f"{name}_TURN"]
    first, step = _step(sets=True), _step(sets=False)
    macros = [*(_macro(f"{name}_FIRST", first) if is_straight else []), *_macro(f"{name}_STEP", step)]
    return macros, [f"{name}_FIRST" if is_straight else f"{name}_STEP", *([f"{name}_STEP"] * (turn - 1))]


def _in_c(pairs: int) -> list[str]:
    """Returns the same in intrinsics, for compilers that allocate registers themselves."""
    tiles = range(TILES)
    return [
        f"        int32_t {', '.join(f'{s} = 0' for s in _SUMS)};",
        f"        for (int32_t pair = 0; pair < {pairs}; ++pair) {{",
        "            const int32_t a = two_halves(w), b = two_halves(w + 2);",
        f"            const int16_t *x = v + pair * {PAIRED.v_of_word};",
        *(f"            const int32_t x{n} = two_halves(x + {n * PAIR});" for n in tiles),
        *(f"            s{n}0 = __smlad(x{n}, a, s{n}0), s{n}1 = __smlad(x{n}, b, s{n}1);" for n in tiles),
        f"            w += {PAIR * PAIR};",
        "        }",
    ]


def _straight(turn: list[str]) -> list[str]:
    """Returns all pairs unrolled."""
    return [f"        int32_t {', '.join(_SUMS)};", *_asm(turn, "=&r", "")]


def _in_turns(turn: list[str], pairs: int) -> list[str]:
    """Returns the loop over pairs. Its end is in memory, and compared in a free register."""
    again = ['"ldr %[p], %[end]\\n\\t"', '"cmp %[w], %[p]\\n\\t"', '"bne 1b\\n\\t"']
    return [
        f"        int32_t {', '.join(f'{s} = 0' for s in _SUMS)};",
        f"        const int16_t *const end = w + {pairs * PAIR * PAIR};",
        *_asm(['"1:\\n\\t"', *turn, *again], "+r", '[end] "m"(end)'),
    ]


def _asm(lines: list[str], sums: str, inputs: str) -> list[str]:
    """Returns the statement, with four lines of assembly per line of C."""
    return [
        f"        int32_t {', '.join(_TEMPORARY)};",
        "        const int16_t *pixels = v;",
        "        __asm__ volatile(",
        *(f"            {' '.join(lines[n : n + 3])}" for n in range(0, len(lines), 3)),
        f"            : {', '.join(f'[{s}] {chr(34)}{sums}{chr(34)}({s})' for s in _SUMS)},",
        '              [v] "+r"(pixels), [w] "+r"(w),',
        f"              {', '.join(f'[{t}] {chr(34)}=&r{chr(34)}({t})' for t in _TEMPORARY)}",
        f"            : {inputs}".rstrip(),
        f'            : "memory"{", " + chr(34) + "cc" + chr(34) if inputs else ""});',
    ]
