"""3x3 convolutions with 16 products instead of 36: Winograd's F(2x2, 3x3), exact in integers.

A tile is four results, 2 x 2, of the 4 x 4 pixels x around them. With B, G and A of Winograd's filters,

    results = A' (U * V) A        V = B' x B        U = G w G'

where * multiplies element by element and sums over the channels. G contains halves. Doubled, its elements are
integers and the results four times too large, which a shift corrects without remainder, or scales fitted to
such sums. V is x with at most three additions, so it needs ten bits instead of eight. The elements of U need
twelve.

    for blocks of tiles along two rows of the result:
        V of all channels                                                  (scratch v)
        for blocks of output channels:
            sixteen products for each tile and channel, over all channels  (scratch m)
            results of both rows, requantized
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import INT32_MAX
from codegen.isa.plain.requantise import StoreQuantised
from codegen.kernels.requantised import ChannelConstants, channel_constants
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
    Const,
    Declare,
    Expr,
    For,
    Instruction,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
)
from codegen.loops.tensorize import tensorize

KERNEL, RESULTS, WINDOW = 3, 2, 4  # rows and columns of the kernel, of a tile's results, of its pixels
ENLARGED = 4  # factor of sums of products
IN_EVERY_RESULT = (1, 1)  # the position whose product is added to all four results of a tile
POSITIONS = WINDOW * WINDOW

_B = np.array([[1, 0, 0, 0], [0, 1, -1, 1], [-1, 1, 1, 0], [0, 0, 0, -1]])
_G_TWICE = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]])
_A = np.array([[1, 0], [1, 1], [1, -1], [0, -1]])
_LARGEST_V = 4 * 128  # each of the two transformations doubles the range

QUARTER = ScalarFunction(
    "quarter",
    DType.I32,
    """\
/* Of a multiple of four. */
static inline int32_t quarter(int32_t sum)
{
    return sum >> 2;
}
""",
    lambda total: total >> 2,
)


@dataclass(frozen=True, slots=True)
class Blocks:
    """What a core computes together."""

    tiles: int  # that share each load of weights
    channels: int  # of the result
    depths: int = 1  # channels of a pixel that share a 32-bit word

    @property
    def columns(self) -> int:
        """Returns the columns of the result."""
        return self.tiles * RESULTS

    @property
    def record(self) -> int:
        """Returns the elements of V at one position."""
        return self.tiles * self.depths

    @property
    def v_of_word(self) -> int:
        """Returns the elements of V at all positions."""
        return POSITIONS * self.record

    @property
    def sums(self) -> int:
        """Returns the sums at one position."""
        return self.tiles * self.channels


@dataclass(frozen=True, slots=True)
class WinogradProblem:
    """The shape of a layer, and the positions of elements in its rows."""

    name: str
    blocks: Blocks
    width: int  # of the result
    depth: int
    channels: int
    x_dtype: DType
    x_elements: int
    x_first: int  # first row element of column 0's window
    x_step: int  # from one pixel to the next
    y_dtype: DType
    y_elements: int
    y_first: int
    y_pixel_step: int
    y_channel_step: int
    storing: StoreQuantised

    @property
    def words(self) -> int:
        """Returns the words of a pixel."""
        return self.depth // self.blocks.depths


def transformed(weights: Array, blocks: Blocks) -> Array:
    """Returns U of weights [channel][row][column][depth], in the order in which the products read it.

    That is [block of channels][position][word of depths][channel][depth].
    """
    u = np.einsum("ir,orcd,jc->oijd", _G_TWICE, weights.astype(np.int64), _G_TWICE)
    depth = weights.shape[3]
    parts = u.reshape(-1, blocks.channels, POSITIONS, depth // blocks.depths, blocks.depths)
    return np.ascontiguousarray(parts.transpose(0, 2, 3, 1, 4)).reshape(-1).astype(np.int16)


def sums_fit(weights: Array, start: int = 0) -> bool:
    """Returns True if 32 bits hold all intermediate sums, enlarged by four and with up to `start` added."""
    u = np.einsum("ir,orcd,jc->oijd", _G_TWICE, weights.astype(np.int64), _G_TWICE)
    products = np.abs(u).sum(axis=3) * _LARGEST_V
    return bool(np.einsum("ip,oij,jq->opq", np.abs(_A), products, np.abs(_A)).max() + start <= INT32_MAX)


def nest(p: WinogradProblem) -> Proc:
    """Returns the loops before instructions are substituted."""
    its = p.blocks
    x = Buffer("x", p.x_dtype, p.x_elements, Role.ROWS, WINDOW)
    w = Buffer("w", DType.I16, p.channels * POSITIONS * p.depth, Role.CONSTANT)
    y = Buffer("y", p.y_dtype, p.y_elements, Role.OUTPUT, RESULTS)
    v = Buffer("v", DType.I16, p.words * its.v_of_word, Role.LOCAL)
    m = Buffer("m", DType.I32, POSITIONS * its.sums, Role.LOCAL)
    block, word, outer, o = (variable(name) for name in ("block", "word", "ob", "oi"))
    channel = channel_constants(p.storing, p.channels, outer * its.channels + o)
    first = block * (its.columns * p.x_step) + word * its.depths + p.x_first
    stored = For("oi", its.channels, (*channel.loads, _results(p, channel, m, y)))
    products = products_nest(its, m, v, w, p.words, outer * (POSITIONS * p.depth * its.channels))
    body = (
        Declare(v),
        For("word", p.words, (input_nest(its, v, x, p.x_step, word * its.v_of_word, first),)),
        For("ob", p.channels // its.channels, (Declare(m), products, stored)),
    )
    return Proc(p.name, (x, y, w, *channel.tables), (For("block", p.width // its.columns, body),))


def scheduled(p: WinogradProblem, inputs: Instruction, products: Instruction) -> Proc:
    """Returns the loops with an instruction for V of a word's channels, and one for their products."""
    return tensorize(tensorize(nest(p), "tile", [inputs]), "position", [products])


def input_nest(
    blocks: Blocks, v: Buffer, x: Buffer, x_step: int, v_first: Affine | int, x_first: Affine | int
) -> Stmt:
    """Computes V of a word's channels in all tiles."""
    tile, k = variable("tile"), variable("k")

    def pixel(row: int, column: int) -> Expr:
        return load(x, tile * (RESULTS * x_step) + k + column * x_step + x_first, row)

    def element(row: int, column: int) -> Expr:
        return _combined(_B[:, row], lambda r: _combined(_B[:, column], lambda c: pixel(r, c)))

    stores = tuple(
        Store(
            at(v, tile * blocks.depths + k + (row * WINDOW + column) * blocks.record + v_first),
            element(row, column),
        )
        for row in range(WINDOW)
        for column in range(WINDOW)
    )
    return For("tile", blocks.tiles, (For("k", blocks.depths, stores),))


def products_nest(blocks: Blocks, m: Buffer, v: Buffer, w: Buffer, words: int, w_first: Affine | int) -> Stmt:
    """m[position][tile][channel] = the sum over all depths of V times U."""
    position, i, j, word, k = (variable(name) for name in ("position", "i", "j", "word", "k"))
    total = at(m, position * blocks.sums + i * blocks.channels + j)
    element = load(v, word * blocks.v_of_word + position * blocks.record + i * blocks.depths + k)
    of_word = blocks.channels * blocks.depths
    weight = load(w, (position * words + word) * of_word + j * blocks.depths + k + w_first)
    adds = For("k", blocks.depths, (Accumulate(total, element * weight),))
    tiles = For("i", blocks.tiles, (For("j", blocks.channels, (adds,)),))
    zeros = For("i", blocks.tiles, (For("j", blocks.channels, (Store(total, Const(0)),)),))
    return For("position", POSITIONS, (zeros, For("word", words, (tiles,))))


def _results(p: WinogradProblem, channel: ChannelConstants, m: Buffer, y: Buffer) -> Stmt:
    """Returns the four results of each tile, for one channel: columns first, then rows.

    Fitted scales apply to enlarged sums, whose start value is in the one product that all four results
    include.
    """
    its = p.blocks
    i, o, block, outer = (variable(name) for name in ("i", "oi", "block", "ob"))
    half = Buffer("half", DType.I32, RESULTS * WINDOW, Role.LOCAL)
    total = Buffer("sum", DType.I32, RESULTS * RESULTS, Role.LOCAL)
    corners = [(row, column) for row in range(RESULTS) for column in range(RESULTS)]
    start = channel.start
    assert start is not None

    def product(row: int, column: int) -> Expr:
        made = load(m, i * its.channels + o + (row * WINDOW + column) * its.sums)
        return start + made if p.storing.is_fitted and (row, column) == IN_EVERY_RESULT else made

    halves = tuple(
        Store(at(half, row * WINDOW + column), _combined(_A[:, row], partial(_swapped, product, column)))
        for row in range(RESULTS)
        for column in range(WINDOW)
    )

    def four_sums(row: int, column: int) -> Expr:
        return _combined(_A[:, column], lambda c: load(half, row * WINDOW + c))

    def result(row: int, column: int) -> Expr:
        enlarged = four_sums(row, column)
        return enlarged if p.storing.is_fitted else start + Apply(QUARTER, (enlarged,))

    sums = tuple(Store(at(total, n), result(*corner)) for n, corner in enumerate(corners))

    def place(row: int, column: int) -> BufferPlace:
        pixel, channel = block * its.columns + i * RESULTS + column, outer * its.channels + o
        return at(y, pixel * p.y_pixel_step + channel * p.y_channel_step + p.y_first, row)

    stores = tuple(Store(place(*c), channel.stored(load(total, n))) for n, c in enumerate(corners))
    return For("i", its.tiles, (Declare(half), *halves, Declare(total), *sums, *stores))


def _swapped(of: Callable[[int, int], Expr], column: int, row: int) -> Expr:
    return of(row, column)


def _combined(factors: Array, term: Callable[[int], Expr]) -> Expr:
    """Returns the sum of terms with factors 1, 0 and -1, starting with a positive one."""
    signed = sorted((-int(f), n) for n, f in enumerate(factors) if f)
    (_, first), *rest = signed
    total = term(first)
    for minus, number in rest:
        total = total - term(number) if minus > 0 else total + term(number)
    return total
