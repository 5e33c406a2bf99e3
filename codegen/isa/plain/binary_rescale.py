"""C code for two quantized values with separate scales: sums, products, quotients, squares, comparisons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aot.ir.types import DType
from aot.ops.binary_rescale import AddParameters, Multiplier, quotients
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.names import mangle
from codegen.isa.plain.arithmetic import (
    SUMS,
    Meaning,
    StoredResult,
    ZeroPoint,
    prelu_meaning,
    product_meaning,
    sum_meaning,
    times,
)
from codegen.isa.plain.requantise import rounded_product
from codegen.isa.plain.scalar_math import CLAMP, TIMES, parenthesised
from codegen.loops.ir import ScalarFunction

ZeroPoints = tuple[int, int]


def sum_function(
    sign: str,
    p: AddParameters,
    zero_points: ZeroPoints,
    result: StoredResult,
    dtype: DType,
    rounding: RequantRounding,
) -> ScalarFunction:
    """f(a, b) -> the stored sum or difference, for any element type."""
    total = f"scaled_a {sign} scaled_b"
    lines, final = _scaled_lines(p, zero_points), f"times({total}, {p.out[0]}, {p.out[1]})"
    kind = SUMS[sign]
    if rounding is not RequantRounding.DOUBLE:
        lines += rounded_product(f"(int64_t)({total}) * {p.out[0]}", 31 - p.out[1], rounding, "once") + "\n"
        kind, final = f"{kind}_{rounding.value}", "once"
    name = _name(kind, dtype, p, zero_points, result)
    meaning = sum_meaning(sign, p, zero_points, result, rounding)
    return _stored(name, f"a {sign} b in the result's steps", lines, final, result, dtype, meaning)


def square_function(
    p: AddParameters, zero_points: ZeroPoints, result: StoredResult, dtype: DType
) -> ScalarFunction:
    """f(a, b) -> the stored (a - b) squared."""

    def compute(a: int, b: int) -> int:
        first, second = _scaled_values(p, zero_points, a, b)
        return result.of(times((first - second) ** 2, p.out))

    final = f"times((scaled_a - scaled_b) * (scaled_a - scaled_b), {p.out[0]}, {p.out[1]})"
    name = _name("squared_difference", dtype, p, zero_points, result)
    lines = _scaled_lines(p, zero_points)
    return _stored(name, "(a - b)^2 in the result's steps", lines, final, result, dtype, compute)


def product_function(
    m: Multiplier,
    zero_points: tuple[ZeroPoint, ZeroPoint],
    result: StoredResult,
    dtype: DType,
    rounding: RequantRounding,
) -> ScalarFunction:
    """f(a, b) -> the stored product; if it is rounded once, with one 64-bit product and one shift."""
    (first, second), (mult, left) = _centred_texts(zero_points), m
    meaning = product_meaning(m, zero_points, result, rounding)
    if rounding is RequantRounding.DOUBLE:
        name, final = (
            _name("mul", dtype, m, zero_points, result),
            f"times({first} * {second}, {mult}, {left})",
        )
        return _stored(name, "a * b in the result's steps", "", final, result, dtype, meaning)
    once = f"to_{rounding.value}" if rounding in PARITY else "once"
    name = _name(f"mul_{once}", dtype, m, zero_points, result)
    definition = f"""\
/* a * b * {mult} / 2^{31 - left}, rounded once. */
static inline {dtype.c_name} {name}(int32_t a, int32_t b)
{{
    const int32_t product = {first} * {second};
{rounded_product(f"(int64_t)product * {mult}", 31 - left, rounding)}
    return ({dtype.c_name})clamp(v + {parenthesised(result.zero_point)}, {result.low}, {result.high});
}}
"""
    return ScalarFunction(name, dtype, definition, meaning, (), (CLAMP,))


def prelu_function(
    branches: tuple[Multiplier, Multiplier], zero_points: ZeroPoints, result: StoredResult, dtype: DType
) -> ScalarFunction:
    """f(a, b) -> the stored a, or a * b if a is negative, with a multiplier for each."""
    (first, second), (positive, negative) = _centred_texts(zero_points), branches
    name = _name("prelu", dtype, branches, zero_points, result)
    alone = f"times({first}, {positive[0]}, {positive[1]})"
    product = f"times({first} * {second}, {negative[0]}, {negative[1]})"
    final = f"{first} >= 0 ? {alone} : {product}"
    says = "a, or a * b where a is negative, in the result's steps"
    meaning = prelu_meaning(branches, zero_points, result)
    return _stored(name, says, "", final, result, dtype, meaning)


def quotient_function(
    m: Multiplier, zero_points: ZeroPoints, result: StoredResult, dtype: DType
) -> ScalarFunction:
    """f(a, b) -> the stored a / b."""
    first, second = _centred_texts(zero_points)

    def compute(a: int, b: int) -> int:
        first, second = (np.asarray([v - z], np.int64) for v, z in zip((a, b), zero_points, strict=True))
        return result.of(int(quotients(first, second, m)[0]))

    name = _name("div", dtype, m, zero_points, result)
    final = f"quotient({first}, {second}, {m[0]}, {m[1]})"
    return _stored(name, "a / b in the result's steps", "", final, result, dtype, compute, (QUOTIENT,))


def comparison_function(
    sign: str, holds: Callable[[int, int], bool], p: AddParameters, zero_points: ZeroPoints
) -> ScalarFunction:
    """f(a, b) -> whether the relation holds between the represented floats."""
    name = mangle("compare", sign, p, zero_points)
    definition = f"""\
/* a {sign} b in floats. */
static inline uint8_t {name}(int32_t a, int32_t b)
{{
{_scaled_lines(p, zero_points)}    return scaled_a {sign} scaled_b;
}}
"""

    def compute(a: int, b: int) -> bool:
        return holds(*_scaled_values(p, zero_points, a, b))

    return ScalarFunction(name, DType.BOOL, definition, compute, (), (TIMES,))


_LEADING = """\
/* 1 / (1 + x) for x in [0, 1), in 31 fractional bits: three Newton-Raphson steps. */
static inline int32_t one_over_one_plus(int32_t x)
{
    const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) >> 1);
    int64_t y = 1515870810 + (((int64_t)half * -1010580540 + (INT32_C(1) << 30)) >> 31);
    for (int32_t step = 0; step < 3; ++step) {
        const int64_t error = ((int64_t)1 << 29) - ((half * y + (1 << 30)) >> 31);
        y += ((y * error + (INT32_C(1) << 30)) >> 31) * 4;
    }
    return y >= (INT32_C(1) << 30) ? INT32_MAX : (int32_t)(y * 2);
}
"""


def _one_over_one_plus(raw: int) -> int:
    from aot.ops.fixed_point import one_over_one_plus

    return int(one_over_one_plus(np.asarray(raw, np.int64)))


ONE_OVER_ONE_PLUS = ScalarFunction("one_over_one_plus", DType.I32, _LEADING, _one_over_one_plus)

QUOTIENT = ScalarFunction(
    "quotient",
    DType.I32,
    """\
/* a / b * mult / 2^31 * 2^shift; 0 where b is 0. */
static inline int32_t quotient(int32_t a, int32_t b, int32_t mult, int32_t shift)
{
    if (b == 0) {
        return 0;
    }
    const int32_t numerator = b < 0 ? -a : a;
    const uint32_t divisor = (uint32_t)(b < 0 ? -b : b);
    const uint32_t magnitude = (uint32_t)(numerator < 0 ? ~numerator : numerator);
    int32_t zeros = 0;
    int32_t headroom = 0;
    while ((divisor << zeros) < 0x80000000u) {
        ++zeros;
    }
    while (headroom < 31 && (magnitude << headroom) < 0x40000000u) {
        ++headroom;
    }
    const int32_t inverse = one_over_one_plus((int32_t)((divisor << zeros) - 0x80000000u));
    const int64_t shifted = (int64_t)numerator * ((int64_t)1 << headroom);
    const int32_t unscaled = (int32_t)((shifted * inverse + (INT32_C(1) << 30)) >> 31);
    return times(unscaled, mult, shift + zeros + 1 - 32 - headroom);
}
""",
    lambda a, b, mult, shift: int(quotients(np.asarray([a]), np.asarray([b]), (mult, shift))[0]),
    (),
    (TIMES, ONE_OVER_ONE_PLUS),
)


def _stored(
    name: str,
    says: str,
    lines: str,
    final: str,
    result: StoredResult,
    dtype: DType,
    compute: Meaning,
    calls: tuple[ScalarFunction, ...] = (),
) -> ScalarFunction:
    definition = f"""\
/* {says}, as the reference rounds. */
static inline {dtype.c_name} {name}(int32_t a, int32_t b)
{{
{lines}    const int32_t v = {final};
    return ({dtype.c_name})clamp(v + {parenthesised(result.zero_point)}, {result.low}, {result.high});
}}
"""
    return ScalarFunction(name, dtype, definition, compute, (), (TIMES, CLAMP, *calls))


def _name(kind: str, dtype: DType, *numbers: object) -> str:
    return mangle(f"{kind}_{dtype.value}", *numbers)


def _centred_texts(zero_points: tuple[ZeroPoint, ZeroPoint]) -> tuple[str, str]:
    first, second = (
        f"({o} - {parenthesised(z)})" if z else o for o, z in zip("ab", zero_points, strict=True)
    )
    return first, second


def _scaled_lines(p: AddParameters, zero_points: ZeroPoints) -> str:
    texts = zip("ab", _centred_texts(zero_points), (p.first, p.second), strict=True)
    return "".join(
        f"    const int32_t scaled_{o} = times({text} * {1 << p.left_shift}, {m[0]}, {m[1]});\n"
        for o, text, m in texts
    )


def _scaled_values(p: AddParameters, zero_points: ZeroPoints, a: int, b: int) -> tuple[int, int]:
    first, second = (
        times((v - z) << p.left_shift, m)
        for v, z, m in zip((a, b), zero_points, (p.first, p.second), strict=True)
    )
    return first, second
