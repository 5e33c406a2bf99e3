"""Scalar functions of the non-convolution ops: their C text and their exact meaning."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from aot.ir.types import DType
from aot.ops.add import AddParameters
from aot.ops.average_pool2d import rounded_mean
from aot.ops.requant import multiply_by_quantized_multiplier, rounding_divide_by_pot
from codegen.instr.instruction import Function
from codegen.instr.requantise import clamp_function, doubling_high_mul

DIVIDE_BY_POT = Function(
    "divide_by_pot",
    DType.I32,
    """\
/* v / 2^exponent, half away from zero; exponent >= 1. */
static inline int32_t divide_by_pot(int32_t v, int32_t exponent)
{
    return (v + (int32_t)((1u << exponent) >> 1) + (v >> 31)) >> exponent;
}
""",
    lambda v, exponent: int(rounding_divide_by_pot(np.int64(v), exponent)),
)


def add_int8(p: AddParameters, zero_points: tuple[int, int, int], low: int, high: int, dsp: bool) -> Function:
    """f(a, b) -> the stored sum: both brought to one scale, added, brought to the result's scale."""
    first_zero, second_zero, out_zero = zero_points
    numbers = repr((p, zero_points, low, high))
    name = f"add_int8_{crc32(numbers.encode()):08x}"  # other numbers, another function
    definition = f"""\
/* a * {_real(p.first)} + b * {_real(p.second)} in the result's steps, as the reference rounds. */
static inline int8_t {name}(int32_t a, int32_t b)
{{
    const int32_t scaled_a = {_scaled(f"(a - {_paren(first_zero)}) * (1 << {p.left_shift})", p.first)};
    const int32_t scaled_b = {_scaled(f"(b - {_paren(second_zero)}) * (1 << {p.left_shift})", p.second)};
    const int32_t v = {_scaled("scaled_a + scaled_b", p.out)};
    return (int8_t)clamp(v + {_paren(out_zero)}, {low}, {high});
}}
"""

    def compute(a: int, b: int) -> int:
        total = 0
        for value, zero, multiplier in ((a, first_zero, p.first), (b, second_zero, p.second)):
            total += int(
                multiply_by_quantized_multiplier(np.int64((value - zero) << p.left_shift), *multiplier)
            )
        scaled = int(multiply_by_quantized_multiplier(np.int64(total), *p.out))
        return min(max(scaled + out_zero, low), high)

    return Function(
        name, DType.I8, definition, compute, (), (doubling_high_mul(dsp), DIVIDE_BY_POT, clamp_function())
    )


def _scaled(value: str, multiplier: tuple[int, int]) -> str:
    mult, shift = multiplier
    high = f"doubling_high_mul({value}, {mult})"
    return high if shift == 0 else f"divide_by_pot({high}, {-shift})"


def _real(multiplier: tuple[int, int]) -> str:
    mult, shift = multiplier
    return f"{mult / 2**31 * 2.0**shift:.6g}"


def _paren(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def mean_of(count: int) -> Function:
    """f(sum) -> sum / count, half away from zero."""
    definition = f"""\
/* sum / {count}, half away from zero. */
static inline int32_t mean_of_{count}(int32_t sum)
{{
    return (sum >= 0 ? sum + {count // 2} : sum - {count // 2}) / {count};
}}
"""

    def compute(total: int) -> int:
        return int(rounded_mean(np.asarray(total, np.int64), np.asarray(count, np.int64)))

    return Function(f"mean_of_{count}", DType.I32, definition, compute)


def mean_of_counted() -> Function:
    """f(sum, count) -> sum / count, half away from zero."""
    definition = """\
/* sum / count, half away from zero. */
static inline int32_t mean(int32_t sum, int32_t count)
{
    return (sum >= 0 ? sum + count / 2 : sum - count / 2) / count;
}
"""

    def compute(total: int, count: int) -> int:
        return int(rounded_mean(np.asarray(total, np.int64), np.asarray(count, np.int64)))

    return Function("mean", DType.I32, definition, compute)


def clamp_to(low: int, high: int) -> Function:
    """f(v) -> v within low .. high, as int8."""
    name = f"clamp_{low}_{high}".replace("-", "m")
    definition = f"""\
static inline int8_t {name}(int32_t v)
{{
    return (int8_t)clamp(v, {_paren(low)}, {_paren(high)});
}}
"""
    return Function(name, DType.I8, definition, lambda v: min(max(v, low), high), (), (clamp_function(),))
