"""The fixed-point parts of the int8 log-softmax, in C and with their exact meaning."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.fixed_point import logarithm, one_over_one_plus
from aot.ops.log_softmax import LOG_SHIFT, least_difference, reverse_multiplier
from aot.ops.requant import multiply_by_quantized_multiplier, rounding_divide_by_pot
from aot.ops.softmax import DIFF_INTEGER_BITS, SUM_INTEGER_BITS, SoftmaxParameters
from codegen.isa.plain.plain import TIMES
from codegen.isa.plain.scalar_math import CLAMP
from codegen.isa.plain.softmax import HIGH_MUL, ROUND_SHIFT
from codegen.loops.ir import ScalarFunction

_ONE_OVER_ONE_PLUS = ScalarFunction(
    "one_over_one_plus",
    DType.I32,
    """\
/* 1 / (1 + x), both fractions of 2^31: three Newton-Raphson steps. */
static int32_t one_over_one_plus(int32_t fraction)
{
    const int32_t half = (int32_t)(((uint32_t)fraction + 0x80000000u) >> 1);
    int32_t x = 1515870810 + fixed_mul(half, -1010580540);
    int32_t step;
    for (step = 0; step < 3; ++step) {
        x += fixed_mul(x, (INT32_C(1) << 29) - fixed_mul(half, x)) * 4;
    }
    return x > INT32_MAX / 2 ? INT32_MAX : x * 2;
}
""",
    lambda x: int(one_over_one_plus(np.asarray(x, np.int64))),
    calls=(HIGH_MUL,),
    is_inline=False,
)
_LEADING_ZEROS = ScalarFunction(
    "leading_zeros",
    DType.I32,
    """\
/* Of 32 bits. */
static inline int32_t leading_zeros(int32_t v)
{
    int32_t count = 32;
    for (; v != 0; v >>= 1) {
        --count;
    }
    return count;
}
""",
    lambda v: 32 - int(v).bit_length(),
)
_SATURATED_LEFT = ScalarFunction(
    "saturated_left",
    DType.I32,
    """\
/* v * 2^shift, or the limit that it passes. */
static inline int32_t saturated_left(int32_t v, int32_t shift)
{
    const int64_t wide = (int64_t)v * ((int64_t)1 << shift);
    return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}
""",
    lambda v, shift: int(np.clip(v << shift, -(2**31), 2**31 - 1)),
)
LOGARITHM = ScalarFunction(
    "log_of_sum",
    DType.I32,
    """\
/* log(sum) in units of 2^-26, of a sum >= 1 in units of 2^-19. It is brought near 1 in two ways, by powers of
   2 with and without a factor of sqrt(1/2); the smaller rest counts. */
static int32_t log_of_sum(int32_t sum)
{
    const int32_t zeros = leading_zeros(sum);
    const int32_t zeros_b = leading_zeros(fixed_mul(sum, 1518500250)) - 1;
    const int32_t rest_a = saturated_left(fixed_mul(saturated_left(sum, zeros - 1), 1518500250), 1);
    const int32_t rest_b = saturated_left(sum, zeros_b);
    const int32_t power_a = (12 - zeros) * (INT32_C(1) << 25) + (INT32_C(1) << 23);
    const int32_t power_b = (12 - zeros_b) * (INT32_C(1) << 25) - (INT32_C(1) << 23);
    const int32_t rest = rest_a < rest_b ? rest_a : rest_b;
    const int32_t power = power_a > power_b ? power_a : power_b;
    const int32_t half_sum = (int32_t)(((uint32_t)rest + 1805811301u + 1u) >> 1);
    const int32_t q = 2 * (rest - 1805811301);
    const int32_t square = fixed_mul(q, q);
    const int32_t over = fixed_mul(q, rest) + fixed_mul(fixed_mul(q, square), 117049297);
    const int32_t under = fixed_mul(half_sum, 1057819769 + q + fixed_mul(square, 127690142))
        + fixed_mul(q, 638450708);
    const int32_t near_one = fixed_mul(round_shift(over, 6), one_over_one_plus(under));
    return saturated_left(fixed_mul(power, 1488522236) + near_one, 1);
}
""",
    lambda total: int(logarithm(np.array([total], np.int64), SUM_INTEGER_BITS, DIFF_INTEGER_BITS)[0]),
    calls=(HIGH_MUL, ROUND_SHIFT, _LEADING_ZEROS, _SATURATED_LEFT, _ONE_OVER_ONE_PLUS),
    is_inline=False,
)


def least_of(p: SoftmaxParameters) -> ScalarFunction:
    """f(log of sum) -> the exclusive lower limit of x - max."""
    mult, shift = reverse_multiplier(p)
    name = f"least_difference_{p.mult}_{p.left_shift}"
    definition = f"""\
/* What differences must be greater than; results of others would leave the fixed-point numbers. */
static inline int32_t {name}(int32_t log_sum)
{{
    const int32_t reached = times(log_sum + INT32_MIN, {mult}, {shift});
    return reached > {p.diff_min - 1} ? reached : {p.diff_min - 1};
}}
"""
    return ScalarFunction(
        name,
        DType.I32,
        definition,
        lambda log_sum: int(least_difference(p, np.asarray(log_sum, np.int64))),
        (),
        (TIMES,),
    )


def log_share(p: SoftmaxParameters) -> ScalarFunction:
    """f(x - max, least difference, log of sum) -> the stored result."""
    name = f"log_share_{p.mult}_{p.left_shift}"
    definition = f"""\
/* x - max - log(sum) in steps of 1/16 below 127. */
static inline int8_t {name}(int32_t difference, int32_t least, int32_t log_sum)
{{
    const int32_t scaled = difference > least ? times(difference, {p.mult}, {p.left_shift}) - log_sum : 0;
    return (int8_t)(difference > least ? clamp(round_shift(scaled, {LOG_SHIFT}) + 127, -128, 127) : -128);
}}
"""

    def compute(difference: int, least: int, log_sum: int) -> int:
        if difference <= least:
            return -128
        scaled = multiply_by_quantized_multiplier(np.int64(difference), p.mult, p.left_shift)
        return min(max(int(rounding_divide_by_pot(scaled - log_sum, LOG_SHIFT)) + 127, -128), 127)

    return ScalarFunction(name, DType.I8, definition, compute, (), (TIMES, ROUND_SHIFT, CLAMP))
