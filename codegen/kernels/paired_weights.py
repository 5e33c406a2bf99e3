"""Dot products with two weights in one factor: what is widened for four products is one word and not two.

A half-word of two weights, 256 * a + b, is a factor of SMLAD as it lies in memory, and b alone is its low
byte, widened. With the values x and y that a and b belong to,

    (256 * a + b) * x + b * (256 * y + 127 - x) = 256 * (a * x + b * y) + 127 * b

so that two products make both sums, 256 times as large and with 127 * b too much, which where sums start
takes away. The factor 256 * y + 127 - x has 16 bits for every x and y of 8: of two bytes in memory, x and
then y, it is both as they lie, seven bits of x turned over.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.requant import INT32_MAX
from codegen.isa.plain.fitted_scale import most_offset
from codegen.isa.plain.requantise import StoreQuantised
from codegen.kernels.dot_product import DotProblem
from codegen.kernels.fitted_tail import fitted_tail
from codegen.kernels.requantised import Requantised
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    BufferPlace,
    Const,
    Expr,
    ScalarFunction,
)

PAIRED = "paired"  # ends the name of the task, which the reason for the kernel says
ENLARGED = 256  # times, that sums of products are too large
GROUP, HALVES = 4, 2  # weights to a word, and half-words
_SURPLUS = 127  # for each second weight of a half-word
_LARGEST_PIXEL = 128

LOW_BYTE = ScalarFunction(
    "low_byte",
    DType.I32,
    """\
/* The second weight of a half-word of two. */
static inline int32_t low_byte(int32_t weights)
{
    return (int8_t)weights;
}
""",
    lambda weights: (weights + 128) % 256 - 128,
)


def half_words(weights: Array) -> Array:
    """Half-words [channel][kernel row][pair] of weights [channel][kernel row]...; ends of rows are zeros."""
    channels, rows = weights.shape[0], weights.shape[1] if weights.ndim == 4 else 1
    flat = weights.reshape(channels, rows, -1).astype(np.int64)
    whole = np.pad(flat, ((0, 0), (0, 0), (0, -flat.shape[2] % GROUP)))
    return np.asarray(whole[..., 0::2] * ENLARGED + whole[..., 1::2], np.int64)


def _seconds(weights: Array) -> Array:
    """The second weights of all half-words, [channel][...]."""
    words = half_words(weights).reshape(weights.shape[0], -1)
    return np.asarray((words + 128) % 256 - 128, np.int64)


def pairs_fit(weights: Array, bias: Array) -> bool:
    """True where half-words hold all pairs, and 32 bits all sums that begin at `bias`, 256 times as large."""
    words = half_words(weights)
    if weights.dtype != np.int8 or int(words.min()) < -(1 << 15):
        return False
    return _largest_sum(weights, bias) + most_offset(ENLARGED) <= INT32_MAX


def _largest_sum(weights: Array, starts: Array) -> int:
    """A bound of all sums on the way, 256 times as large, that begin at 256 * `starts`."""
    sums = np.abs(weights.reshape(weights.shape[0], -1).astype(np.int64)).sum(axis=1) * _LARGEST_PIXEL
    enlarged = (sums + np.abs(starts.astype(np.int64))) * ENLARGED
    surplus = np.abs(_seconds(weights)).sum(axis=1) * _LARGEST_PIXEL
    return int((enlarged + surplus).max())


def enlarged_tail(tail: Requantised, weights: Array) -> Requantised:
    """The same tail for enlarged sums: by scales fitted to them, or by those of the true sums.

    Where fitted sums begin so far from the bias that 32 bits would not hold them enlarged, none are fitted.
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
    """The same for sums that are 256 times as large."""
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
    """Adds both products with a half-word of weights."""
    second_weight = Apply(LOW_BYTE, (half_word,))
    return (
        Accumulate(total, Binary("*", first, half_word)),
        Accumulate(total, Binary("*", mixed, second_weight)),
    )


def mixed_pixels(first: Expr, second: Expr) -> Expr:
    """The factor of second weights that are alone: 256 * second + 127 - first."""
    return Binary("-", Binary("+", Binary("*", second, Const(ENLARGED)), Const(_SURPLUS)), first)
