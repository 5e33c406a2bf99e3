"""Winograd's convolutions with plain 32-bit products.

The products have a tile's sums in registers, with the elements of V and one weight. Pixels are bytes, as they
are stored: a plain core needs as long for a byte as for a halfword.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from aot.ir.types import DType
from aot.target import Feature
from codegen.kernels.kernel import Site
from codegen.kernels.register_tile import INSTRUCTIONS_PER_SUM, INSTRUCTIONS_WORTH_A_BYTE
from codegen.kernels.winograd import (
    POSITIONS,
    RESULTS,
    Blocks,
    input_nest,
    products_nest,
)
from codegen.kernels.winograd_rows import WinogradCore
from codegen.loops.ir import Buffer, Instruction, Role, ScalarFunction

MANY_REGISTERS = 16
_OF_MANY, _OF_16, _OF_8 = Blocks(4, 4), Blocks(4, 2), Blocks(2, 2)  # by registers
_TURNS = (1, 2, 4, 8)
_LONGEST = 4
_INPUT_INSTRUCTIONS, _TILE_OF_CHANNEL = 20, 48  # V of a channel, besides tiles; per tile
_RESULTS_INSTRUCTIONS = 40  # sums of a tile, besides stores
_POSITION, _ITERATION, _BLOCK = 10, 3, 30  # besides products
_BYTES_PER_INSTRUCTION = 3  # approximate

COLUMN = ScalarFunction(
    "column_of_bytes",
    DType.I32,
    """\
struct column_of_bytes {
    int32_t row0, row1, row2, row3;
};

/* Four pixels one below the other, combined: p0 - p2, p1 + p2, p2 - p1, p1 - p3. */
static inline struct column_of_bytes column_of_bytes(
    const int8_t *x0, const int8_t *x1, const int8_t *x2, const int8_t *x3)
{
    const int32_t p0 = *x0, p1 = *x1, p2 = *x2, p3 = *x3;
    return (struct column_of_bytes){p0 - p2, p1 + p2, p2 - p1, p1 - p3};
}
""",
    lambda *_: 0,
)


@lru_cache(maxsize=64)
def input_of_channel(blocks: Blocks, x_step: int) -> Instruction:
    """Computes V of a channel in all tiles, whose pixels are `x_step` elements apart."""
    x = Buffer("x", DType.I8, 0, Role.ROWS, 4)
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    name = f"winograd_input_{blocks.tiles}_step{x_step}"
    text = _INPUT.replace("NAME", name).replace("STEP", str(x_step)).replace("TILES", str(blocks.tiles))
    return Instruction(
        name=name,
        params=(v, x),
        body=(input_nest(blocks, v, x, x_step, 0, 0),),
        call=f"{name}({{v}}, {{x_array}}, {{x_offset}});",
        definition=text,
        calls=(COLUMN,),
        machine_instructions=130,
    )


_INPUT = """\
static inline void NAME_row(int16_t *v, int32_t a, int32_t b, int32_t c, int32_t d)
{
    v[0] = (int16_t)(a - c);
    v[TILES] = (int16_t)(b + c);
    v[2 * TILES] = (int16_t)(c - b);
    v[3 * TILES] = (int16_t)(b - d);
}

/* The transformed pixels of a tile, from its four columns. */
static inline void NAME_tile(
    int16_t *v, const struct column_of_bytes *a, const struct column_of_bytes *b,
    const struct column_of_bytes *c, const struct column_of_bytes *d)
{
    NAME_row(v, a->row0, b->row0, c->row0, d->row0);
    NAME_row(v + 4 * TILES, a->row1, b->row1, c->row1, d->row1);
    NAME_row(v + 8 * TILES, a->row2, b->row2, c->row2, d->row2);
    NAME_row(v + 12 * TILES, a->row3, b->row3, c->row3, d->row3);
}

/* A channel of TILES tiles, pixels STEP elements apart: a tile takes two columns over from the last. */
static inline void NAME(int16_t *v, const int8_t *const *x, int32_t offset)
{
    const int8_t *x0 = x[0] + offset, *x1 = x[1] + offset, *x2 = x[2] + offset, *x3 = x[3] + offset;
    struct column_of_bytes a = column_of_bytes(x0, x1, x2, x3);
    struct column_of_bytes b = column_of_bytes(x0 + STEP, x1 + STEP, x2 + STEP, x3 + STEP);
    for (int32_t pair = 0; pair < TILES / 2; ++pair) {
        x0 += 2 * STEP, x1 += 2 * STEP, x2 += 2 * STEP, x3 += 2 * STEP;
        const struct column_of_bytes c = column_of_bytes(x0, x1, x2, x3);
        const struct column_of_bytes d = column_of_bytes(x0 + STEP, x1 + STEP, x2 + STEP, x3 + STEP);
        NAME_tile(v, &a, &b, &c, &d);
        x0 += 2 * STEP, x1 += 2 * STEP, x2 += 2 * STEP, x3 += 2 * STEP;
        a = column_of_bytes(x0, x1, x2, x3);
        b = column_of_bytes(x0 + STEP, x1 + STEP, x2 + STEP, x3 + STEP);
        NAME_tile(v + 1, &c, &d, &a, &b);
        v += 2;
    }
}
"""


@lru_cache(maxsize=64)
def products_of_channels(blocks: Blocks, depth: int, turn: int) -> Instruction:
    """Computes all sixteen products of a block, over `depth` channels, `turn` of them per iteration."""
    m = Buffer("m", DType.I32, 0, Role.SCRATCH)
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    w = Buffer("w", DType.I16, 0, Role.CONSTANT)
    name = f"winograd_products_{blocks.tiles}x{blocks.channels}_by_{turn}"
    return Instruction(
        name=name,
        params=(m, v, w),
        body=(products_nest(blocks, m, v, w, depth, 0),),
        call=f"{name}({{m}}, {{v}}, {{w}}, {{depth}});",
        definition="\n".join(_products(name, blocks, turn)) + "\n",
        # Half of the function, since several layers usually share it.
        machine_instructions=(_turn_instructions(blocks, turn) + 2 * blocks.sums + 12) // 2,
        numbers=(("depth", depth),),
    )


def _turn_instructions(blocks: Blocks, turn: int) -> int:
    return turn * (blocks.tiles + blocks.channels + 2 * blocks.sums) + _ITERATION


def winograd_cost(site: Site) -> int:
    """Returns the approximate instructions of a run, plus the cost of the code in instructions."""
    _, rows, width, channels = site.outputs[0].shape
    blocks, depth = blocks_of(site), site.input(0).shape[3]
    turn = _longest_turn(depth)
    turn_instructions = _turn_instructions(blocks, turn)
    products = POSITIONS * (depth // turn * turn_instructions + 2 * blocks.sums + _POSITION)
    results = blocks.sums * (_RESULTS_INSTRUCTIONS + RESULTS * RESULTS * INSTRUCTIONS_PER_SUM)
    inputs = depth * (_INPUT_INSTRUCTIONS + blocks.tiles * _TILE_OF_CHANNEL)
    one = inputs + channels // blocks.channels * (products + results + _BLOCK)
    code = turn_instructions + 3 * blocks.sums + 2 * _TILE_OF_CHANNEL + _RESULTS_INSTRUCTIONS
    run = rows // RESULTS * (width // blocks.columns) * one
    return run + INSTRUCTIONS_WORTH_A_BYTE * _BYTES_PER_INSTRUCTION * code


def _products(name: str, blocks: Blocks, turn: int) -> Iterator[str]:
    sums = [f"s{tile}{channel}" for tile in range(blocks.tiles) for channel in range(blocks.channels)]
    yield f"/* Sixteen products of {blocks.tiles} tiles for {blocks.channels} channels. */"
    yield f"static inline void {name}(int32_t *m, const int16_t *v, const int16_t *w, int32_t depth)"
    yield "{"
    yield f"    for (int32_t position = 0; position < {POSITIONS}; ++position) {{"
    yield f"        int32_t {', '.join(f'{s} = 0' for s in sums)};"
    yield "        const int16_t *x = v;"
    yield f"        const int16_t *const end = w + depth * {blocks.channels};"
    yield "        do {"
    for n in range(turn):
        yield "            {"
        values = (f"x{tile} = x[{n * blocks.v_of_word + tile}]" for tile in range(blocks.tiles))
        yield f"                const int32_t {', '.join(values)};"
        for channel in range(blocks.channels):
            yield f"                const int32_t w{channel} = w[{n * blocks.channels + channel}];"
            adds = (f"s{tile}{channel} += x{tile} * w{channel};" for tile in range(blocks.tiles))
            yield f"                {' '.join(adds)}"
        yield "            }"
    yield f"            x += {turn * blocks.v_of_word};"
    yield f"            w += {turn * blocks.channels};"
    yield "        } while (w != end);"
    yield from (f"        m[{n}] = {s};" for n, s in enumerate(sums))
    yield f"        m += {blocks.sums};"
    yield f"        v += {blocks.record};"
    yield "    }"
    yield "}"


def blocks_of(site: Site) -> Blocks:
    """Returns the blocks that fit the registers. Arm's cores without unaligned loads also have only eight."""
    if site.target.registers >= MANY_REGISTERS:
        return _OF_MANY
    return _OF_16 if site.target.has(Feature.UNALIGNED) else _OF_8


def _longest_turn(depth: int) -> int:
    """Returns the most channels per iteration that divide all of them."""
    return next(turn for turn in range(_LONGEST, 0, -1) if depth % turn == 0)


PLAIN_CORE = WinogradCore(
    row_bytes=1,
    blocks=blocks_of,
    inputs=lambda problem: input_of_channel(problem.blocks, problem.x_step),
    products=lambda _site, problem, turn: products_of_channels(problem.blocks, problem.depth, turn),
    turns=_TURNS,
    longest_turn=_longest_turn,
)
