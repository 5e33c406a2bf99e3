"""The fixed-point parts of the int8 softmax and log-softmax, in C and with their exact meaning."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops import fixed_point
from aot.ops.fixed_point import logarithm, one_over_one_plus
from aot.ops.log_softmax import LOG_SHIFT, least_difference, reverse_multiplier
from aot.ops.requant import (
    multiply_by_quantized_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from aot.ops.softmax import DIFF_INTEGER_BITS, SUM_INTEGER_BITS, SoftmaxParameters
from codegen.isa.plain.scalar_math import CLAMP, TIMES, expression_function
from codegen.loops.ir import ScalarFunction

HIGH_MUL = expression_function(
    "fixed_mul",
    DType.I32,
    (DType.I32, DType.I32),
    "(int32_t)(((int64_t)a * b + (INT32_C(1) << 30)) >> 31)",
    lambda a, b: int(saturating_rounding_doubling_high_mul(np.int64(a), np.int64(b))),
    comment="a * b of two fractions of 2^31, half up; not both -2^31.",
)
ROUND_SHIFT = ScalarFunction(
    "round_shift",
    DType.I32,
    """\
/* v / 2^exponent, half away from zero; exponent >= 0, and any v, since nothing is added to it. */
static inline int32_t round_shift(int32_t v, int32_t exponent)
{
    const int32_t rest = (int32_t)((uint32_t)v & ((UINT32_C(1) << exponent) - 1u));
    const int32_t half = (int32_t)(((UINT32_C(1) << exponent) - 1u) >> 1) + (v < 0);
    return (v >> exponent) + (rest > half);
}
""",
    lambda v, exponent: int(rounding_divide_by_pot(np.int64(v), exponent)),
)
_EXP = ScalarFunction(
    "exp_of_negative",
    DType.I32,
    """\
/* exp(x) as a fraction of 2^31, for x <= 0 in units of 2^-26: a polynomial for the part below a
   quarter, a factor exp(-2^n) for each other bit that is set. */
static int32_t exp_of_negative(int32_t x)
{
    static const int32_t exp_of_power[7] = {
        1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242,
    };
    const int32_t quarter = INT32_C(1) << 24;
    const int32_t part = (int32_t)((uint32_t)x & (uint32_t)(quarter - 1)) - quarter;
    const int32_t rest = part - x;
    const int32_t t = (int32_t)((uint32_t)part << 5) + (INT32_C(1) << 28);
    const int32_t t2 = fixed_mul(t, t);
    const int32_t higher = round_shift(
        fixed_mul(round_shift(fixed_mul(t2, t2), 2) + fixed_mul(t2, t), 715827883) + t2, 1);
    int32_t result = 1895147668 + fixed_mul(t + higher, 1895147668);
    int32_t n;
    if (x == 0) {
        return INT32_MAX;
    }
    for (n = 0; n < 7; ++n) {
        if (rest & (INT32_C(1) << (24 + n))) {
            result = fixed_mul(result, exp_of_power[n]);
        }
    }
    return result;
}
""",
    lambda x: int(fixed_point.exp_of_negative(np.asarray(x, np.int64))),
    calls=(HIGH_MUL, ROUND_SHIFT),
    is_inline=False,
)


def exp_of_difference(p: SoftmaxParameters) -> ScalarFunction:
    """f(x - max) -> exp(beta * scale * (x - max)) as a fraction of 2**31; zero if it is too small."""
    name = f"exp_of_difference_{_suffix(p)}"
    definition = f"""\
/* exp of a difference to the maximum, as a fraction of 2^31; below {p.diff_min} it counts as zero. */
static inline int32_t {name}(int32_t difference)
{{
    const int32_t scaled = (int32_t)((uint32_t)difference << {p.left_shift});
    return difference < {p.diff_min} ? 0 : exp_of_negative(fixed_mul(scaled, {p.mult}));
}}
"""

    def compute(difference: int) -> int:
        if difference < p.diff_min:
            return 0
        scaled = saturating_rounding_doubling_high_mul(np.int64(difference << p.left_shift), p.mult)
        return int(fixed_point.exp_of_negative(np.asarray(scaled, np.int64)))

    return ScalarFunction(name, DType.I32, definition, compute, (), (HIGH_MUL, _EXP))


def exp_for_sum(p: SoftmaxParameters) -> ScalarFunction:
    """f(x - max) -> the exponential as a term of the sum, with 12 integer bits."""
    exp, name = exp_of_difference(p), f"exp_for_sum_{_suffix(p)}"

    def compute(difference: int) -> int:
        return int(rounding_divide_by_pot(np.int64(exp.meaning(difference)), SUM_INTEGER_BITS))

    return expression_function(
        name,
        DType.I32,
        {"difference": DType.I32},
        f"round_shift({exp.name}(difference), {SUM_INTEGER_BITS})",
        compute,
        calls=(ROUND_SHIFT, exp),
    )


def _exp_by(difference: int, mult: int, shift: int, least: int) -> int:
    return int(exp_of_difference(SoftmaxParameters(mult, shift, least)).meaning(difference))


EXP_BY = ScalarFunction(
    "exp_of_difference_by",
    DType.I32,
    """\
/* exp of a difference to the maximum, as a fraction of 2^31; below `least` it counts as zero. */
static inline int32_t exp_of_difference_by(int32_t difference, int32_t mult, int32_t shift, int32_t least)
{
    const int32_t scaled = (int32_t)((uint32_t)difference << shift);
    return difference < least ? 0 : exp_of_negative(fixed_mul(scaled, mult));
}
""",
    _exp_by,
    calls=(HIGH_MUL, _EXP),
)
EXP_FOR_SUM_BY = expression_function(
    "exp_for_sum_by",
    DType.I32,
    {"difference": DType.I32, "mult": DType.I32, "shift": DType.I32, "least": DType.I32},
    f"round_shift(exp_of_difference_by(difference, mult, shift, least), {SUM_INTEGER_BITS})",
    lambda *given: int(rounding_divide_by_pot(np.int64(_exp_by(*given)), SUM_INTEGER_BITS)),
    calls=(ROUND_SHIFT, EXP_BY),
)
RECIPROCAL_BITS = ScalarFunction(
    "reciprocal_bits",
    DType.I32,
    f"""\
/* The shift that goes with reciprocal(sum). */
static inline int32_t reciprocal_bits(int32_t sum)
{{
    uint32_t shifted = (uint32_t)sum | 1u; /* ends for a sum of 0 too, which external weights can cause */
    int32_t bits = {SUM_INTEGER_BITS};
    for (; (shifted & 0x80000000u) == 0; shifted <<= 1) {{
        --bits;
    }}
    return bits;
}}
""",
    lambda total: int(fixed_point.reciprocal(np.array([total], np.int64), SUM_INTEGER_BITS)[1][0]),
)
RECIPROCAL = ScalarFunction(
    "reciprocal",
    DType.I32,
    """\
/* 1 / sum as a fraction of 2^31, to be shifted by reciprocal_bits(sum): three Newton-Raphson steps. */
static int32_t reciprocal(int32_t sum)
{
    const int32_t above_one = (int32_t)(((uint32_t)sum << (12 - reciprocal_bits(sum))) - 0x80000000u);
    const int32_t half = (int32_t)(((uint32_t)above_one + 0x80000000u) >> 1);
    int32_t x = 1515870810 + fixed_mul(half, -1010580540);
    int32_t step;
    for (step = 0; step < 3; ++step) {
        x += fixed_mul(x, (INT32_C(1) << 29) - fixed_mul(half, x)) * 4;
    }
    return x > INT32_MAX / 2 ? INT32_MAX : x * 2;
}
""",
    lambda total: int(fixed_point.reciprocal(np.array([total], np.int64), SUM_INTEGER_BITS)[0][0]),
    calls=(HIGH_MUL, RECIPROCAL_BITS),
    is_inline=False,
)


def share(p: SoftmaxParameters, dtype: DType = DType.I8) -> ScalarFunction:
    """f(x - max, reciprocal, bits) -> the stored probability, in the full range of the type."""
    wide = "" if dtype is DType.I8 else f"_{dtype.value}"
    exp, name = exp_of_difference(p), f"share_{_suffix(p)}{wide}"
    (low, high), shift = dtype.limits, 31 - 8 * dtype.bytes
    definition = f"""\
static inline {dtype.c_name} {name}(int32_t difference, int32_t reciprocal_of_sum, int32_t bits)
{{
    const int32_t product = fixed_mul(reciprocal_of_sum, {exp.name}(difference));
    const int32_t v = bits + {shift} > 31 ? 0 : round_shift(product, bits + {shift}); /* nothing left */
    return ({dtype.c_name})(v > {high - low} ? {high} : v - {-low});
}}
"""

    def compute(difference: int, scale: int, bits: int) -> int:
        product = saturating_rounding_doubling_high_mul(np.int64(scale), np.int64(exp.meaning(difference)))
        return min(int(rounding_divide_by_pot(product, bits + shift)) + low, high)

    return ScalarFunction(name, dtype, definition, compute, (), (HIGH_MUL, ROUND_SHIFT, exp))


def share_by(dtype: DType = DType.I8) -> ScalarFunction:
    """f(x - max, reciprocal, bits, mult, shift, least) -> the stored probability."""
    name, (low, high), shift = f"share_by_{dtype.value}", dtype.limits, 31 - 8 * dtype.bytes
    definition = f"""\
static inline {dtype.c_name} {name}(
    int32_t difference, int32_t reciprocal_of_sum, int32_t bits, int32_t mult, int32_t shift, int32_t least)
{{
    const int32_t exp = exp_of_difference_by(difference, mult, shift, least);
    const int32_t product = fixed_mul(reciprocal_of_sum, exp);
    const int32_t v = bits + {shift} > 31 ? 0 : round_shift(product, bits + {shift}); /* nothing left */
    return ({dtype.c_name})(v > {high - low} ? {high} : v - {-low});
}}
"""

    def compute(difference: int, scale: int, bits: int, *given: int) -> int:
        return int(share(SoftmaxParameters(*given), dtype).meaning(difference, scale, bits))

    return ScalarFunction(name, dtype, definition, compute, (), (HIGH_MUL, ROUND_SHIFT, EXP_BY))


def _suffix(p: SoftmaxParameters) -> str:
    """Returns a suffix by scale. Softmaxes of one scale share functions."""
    return f"{p.mult}_{p.left_shift}"


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
