"""Dot products of one vector with paired weights; the input factors are recomputed for each tile.

Stored factors would need twice the memory of the vector, and a tile of six channels computes them as fast as
it would load them.
"""

from __future__ import annotations

from aot.ir.types import DType
from codegen.kernels.dot_product import DotProblem
from codegen.kernels.paired_weights import GROUP, HALVES, groups_of, mixed_pixels, two_products
from codegen.kernels.requantised import channel_constants
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, BufferPlace, Expr, For, Proc, Role, Stmt, Store, at, let, load, local


def vector_nest(p: DotProblem) -> Proc:
    """Returns the unscheduled loops; `w` has halfwords in the order of `half_words`."""
    assert p.tail is not None
    (x,) = p.rows_read
    y = Buffer("y", p.y_dtype, p.y_elements, Role.OUTPUT)
    w = Buffer("w", DType.I16, p.channels * groups_of(p) * HALVES, Role.CONSTANT)
    total, o = local("sum", DType.I32), variable("o")
    channel = channel_constants(p.tail.storing, p.channels, o)
    n, h = variable("n"), variable("h")
    half_word = load(w, o * (groups_of(p) * HALVES) + n * HALVES + h)
    start = channel.start
    assert start is not None
    begins, scales = (
        channel.loads[:2],
        channel.loads[2:],
    )  # loaded late, or they would be spilled to the stack
    body = (
        *begins,
        *let(total, start),
        sums_nest(groups_of(p), at(total), x, p.x_first, half_word),
        *scales,
        Store(at(y, o * p.y_channel_step + p.y_first), channel.stored(load(total))),
    )
    return Proc(p.name, (x, y, w, *channel.tables), (For("o", p.channels, body),))


def sums_nest(groups: int, total: BufferPlace, x: Buffer, x_first: int, half_word: Expr) -> Stmt:
    """Adds the products of a channel; `half_word` belongs to group `n` and half `h`."""
    return For("n", groups, (products_nest(total, x, variable("n") * GROUP + x_first, half_word),))


def products_nest(total: BufferPlace, x: Buffer, x_first: Affine, half_word: Expr) -> Stmt:
    """Adds the products of a channel with a group of four."""
    place = variable("h") * 2 + x_first
    first, second = load(x, place), load(x, place + 1)
    return For("h", HALVES, two_products(total, first, mixed_pixels(first, second), half_word))
