"""Dot products with two weights in one factor: four products need one widening instead of two.

A halfword of two weights, 256 * a + b, can be a factor of SMLAD directly, and b alone is its low byte,
sign-extended. With the values x and y that belong to a and b,

    (256 * a + b) * x + b * (256 * y + 127 - x) = 256 * (a * x + b * y) + 127 * b

Two products thus give both sums, enlarged by 256, plus 127 * b, which the start value of sums subtracts. The
factor 256 * y + 127 - x has 16 bits for all 8-bit x and y. It is the two bytes x and y in memory, with seven
bits of x inverted.

A vector's factors are recomputed for each tile. Stored factors would need twice the memory of the vector, and
a tile of six channels computes them as fast as it would load them. `paired_rows` stores those of rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import INT32_MAX
from codegen.isa.plain.fitted_scale import most_offset
from codegen.isa.plain.requantise import StoreQuantised
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.dot_product import DotProblem
from codegen.kernels.requantised import Requantised, channel_constants, fitted_tail
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
    Expr,
    For,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)

PAIRED = "paired"  # suffix of the task's name, which the reason for the kernel quotes
ENLARGED = 256  # factor of sums of products
GROUP, HALVES = 4, 2  # weights per 32-bit word, and halfwords
_SURPLUS = 127  # per second weight of a halfword
_LARGEST_PIXEL = 128

LOW_BYTE = expression_function(
    "low_byte",
    DType.I32,
    {"weights": DType.I32},
    "(int8_t)weights",
    lambda weights: (weights + 128) % 256 - 128,
    comment="The second weight of a half-word of two.",
)


def half_words(weights: Array) -> Array:
    """Returns weights [channel][kernel row]... as halfwords [channel][kernel row][pair], zero-padded."""
    channels, rows = weights.shape[0], weights.shape[1] if weights.ndim == 4 else 1
    flat = weights.reshape(channels, rows, -1).astype(np.int64)
    whole = np.pad(flat, ((0, 0), (0, 0), (0, -flat.shape[2] % GROUP)))
    return np.asarray(whole[..., 0::2] * ENLARGED + whole[..., 1::2], np.int64)


def _seconds(weights: Array) -> Array:
    """Returns the second weights of all halfwords, [channel][...]."""
    words = half_words(weights).reshape(weights.shape[0], -1)
    return np.asarray((words + 128) % 256 - 128, np.int64)


def pairs_fit(weights: Array, bias: Array) -> bool:
    """Returns True if halfwords hold all pairs, and 32 bits hold all sums from `bias`, enlarged by 256."""
    words = half_words(weights)
    if weights.dtype != np.int8 or int(words.min()) < -(1 << 15):
        return False
    return _largest_sum(weights, bias) + most_offset(ENLARGED) <= INT32_MAX


def _largest_sum(weights: Array, starts: Array) -> int:
    """Returns a bound of all intermediate sums, enlarged by 256, that start at 256 * `starts`."""
    sums = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64)).sum(axis=1) * _LARGEST_PIXEL
    enlarged = (sums + np.abs(starts.astype(np.int64))) * ENLARGED
    surplus = np.abs(_seconds(weights)).sum(axis=1) * _LARGEST_PIXEL
    return int((enlarged + surplus).max())


def enlarged_tail(tail: Requantised, weights: Array) -> Requantised:
    """Returns the tail for enlarged sums, with scales fitted to them or to the true sums.

    No scales are fitted if their start values are so far from the bias that enlarged sums exceed 32 bits.
    """
    fitted = fitted_tail(tail, weights, DType.I8, ENLARGED)
    if not fitted.storing.is_fitted:
        true_sums = fitted_tail(tail, weights, DType.I8)
        if _largest_sum(weights, true_sums.bias) > INT32_MAX:
            true_sums = tail
        bias = true_sums.bias.astype(np.int64) * ENLARGED
        fitted = replace(true_sums, bias=bias, storing=_of_enlarged(true_sums.storing))
    surplus = _seconds(weights).sum(axis=1) * _SURPLUS
    return replace(fitted, bias=(fitted.bias.astype(np.int64) - surplus).astype(np.int32))


def _of_enlarged(storing: StoreQuantised) -> StoreQuantised:
    """Returns the same store for sums enlarged by 256."""
    store = storing.store
    names = ("sum", "mult", "right", "rounding")[: 3 if storing.prepare is None else 4]
    name = f"{store.name}_of_256"
    given = ", ".join(f"int32_t {n}" for n in names)
    definition = f"""\
/* The same of a sum that is 256 times as large. */
static inline int32_t {name}({given})
{{
    return {store.name}(sum >> 8, {", ".join(names[1:])});
}}
"""

    def compute(total: int, *others: int) -> int:
        return int(store.compute(total >> 8, *others))

    return replace(
        storing,
        store=ScalarFunction(name, store.result, definition, compute, calls=(store,), needs=store.needs),
        parts=None,
    )


def groups_of(p: DotProblem) -> int:
    return p.kernel_rows * -(-p.length // GROUP)


def two_products(
    total: BufferPlace, first: Expr, mixed: Expr, half_word: Expr
) -> tuple[Accumulate, Accumulate]:
    """Adds both products with a halfword of weights."""
    second_weight = Apply(LOW_BYTE, (half_word,))
    return (
        Accumulate(total, first * half_word),
        Accumulate(total, mixed * second_weight),
    )


def mixed_pixels(first: Expr, second: Expr) -> Expr:
    """Returns the factor of the second weight: 256 * second + 127 - first."""
    return second * ENLARGED + _SURPLUS - first


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
