"""The parts of the 16-bit softmax, in C and with their exact meaning."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.softmax_16 import exp_16, exp_points, reciprocal_16, reciprocal_points, share_16
from codegen.isa.plain.piecewise_linear import line_function
from codegen.isa.plain.plain import TIMES, Multiplier
from codegen.isa.plain.scalar_math import CLAMP
from codegen.loops.ir import ScalarFunction


def exp_of_difference_16(multiplier: Multiplier) -> ScalarFunction:
    """f(x - max) -> the exponential as a fraction of 2**15."""
    mult, shift = multiplier
    line, name = (
        line_function("exp", exp_points()),
        f"exp_of_difference_16_{mult}_{'m' * (shift < 0)}{abs(shift)}",
    )
    definition = f"""\
/* exp of a difference to the maximum, as a fraction of 2^15. */
static inline int32_t {name}(int32_t difference)
{{
    return {line.name}(clamp(times(difference, {mult}, {shift}) + 32767, -32768, 32767));
}}
"""

    def compute(difference: int) -> int:
        return int(exp_16(np.asarray(difference, np.int64), multiplier))

    return ScalarFunction(name, DType.I32, definition, compute, (), (TIMES, CLAMP, line))


SUM_BITS = ScalarFunction(
    "sum_bits",
    DType.I32,
    """\
/* The power of 2 that a sum reaches. */
static inline int32_t sum_bits(int32_t sum)
{
    int32_t bits = 0;
    for (; sum > 1; sum >>= 1) {
        ++bits;
    }
    return bits;
}
""",
    lambda total: int(total).bit_length() - 1,
)


def reciprocal_of_sum() -> ScalarFunction:
    """f(sum of exponentials) -> its reciprocal as a fraction of 2**15, before a shift."""
    line = line_function("reciprocal", reciprocal_points())
    definition = f"""\
/* 1 / sum, brought between 1 and 2, as a fraction of 2^15. */
static inline int32_t reciprocal_of_sum(int32_t sum)
{{
    const int32_t scaled = (int32_t)((((int64_t)sum << (30 - sum_bits(sum))) + (1 << 13)) >> 14);
    const int32_t above_one = scaled - 98304; /* 2^15 + 2^16 */
    return {line.name}(clamp(above_one, -32768, 32767));
}}
"""
    return ScalarFunction(
        "reciprocal_of_sum",
        DType.I32,
        definition,
        lambda total: int(reciprocal_16(np.asarray(total, np.int64))),
        (),
        (SUM_BITS, CLAMP, line),
    )


def share_of_sum(exp: ScalarFunction) -> ScalarFunction:
    """f(x - max, reciprocal, bits) -> the stored probability."""
    name = exp.name.replace("exp_of_difference", "share_of_sum")
    definition = f"""\
static inline int16_t {name}(int32_t difference, int32_t reciprocal, int32_t bits)
{{
    const int32_t product = {exp.name}(difference) * reciprocal;
    return (int16_t)clamp((product + (INT32_C(1) << (bits - 1))) >> bits, 0, 32767);
}}
"""

    def compute(difference: int, reciprocal: int, bits: int) -> int:
        return int(share_16(np.int64(exp.meaning(difference)), np.int64(reciprocal), np.int64(bits)))

    return ScalarFunction(name, DType.I16, definition, compute, (), (CLAMP, exp))
