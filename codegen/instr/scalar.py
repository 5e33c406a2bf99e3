"""Scalar functions of the non-convolution ops: their C text and their exact meaning."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.average_pool2d import mean_halves_up, rounded_mean
from aot.ops.requant import rounding_divide_by_pot
from codegen.instr.instruction import Function
from codegen.instr.requantise import clamp_function

DIVIDE_BY_POT = Function(
    "divide_by_pot",
    DType.I32,
    """\
/* v / 2^exponent, half away from zero; exponent >= 1. */
static inline int32_t divide_by_pot(int32_t v, int32_t exponent)
{
    return (v + (int32_t)((UINT32_C(1) << exponent) >> 1) + (v >> 31)) >> exponent;
}
""",
    lambda v, exponent: int(rounding_divide_by_pot(np.int64(v), exponent)),
)


def parenthesised(value: int) -> str:
    """A number as an operand in C."""
    return f"({value})" if value < 0 else str(value)


def mean_of(count: int, halves_up: bool = False) -> Function:
    """f(sum) -> sum / count, half away from zero or half up."""
    name, said = _mean_name(f"mean_of_{count}", halves_up)
    definition = f"""\
/* sum / {count}, {said}. */
static inline int32_t {name}(int32_t sum)
{{
    return {_mean_text(str(count), str(count // 2), halves_up)};
}}
"""
    rounded = mean_halves_up if halves_up else rounded_mean

    def compute(total: int) -> int:
        return int(rounded(np.asarray(total, np.int64), np.asarray(count, np.int64)))

    return Function(name, DType.I32, definition, compute)


def mean_of_counted(halves_up: bool = False) -> Function:
    """f(sum, count) -> sum / count, half away from zero or half up."""
    name, said = _mean_name("mean", halves_up)
    definition = f"""\
/* sum / count, {said}. */
static inline int32_t {name}(int32_t sum, int32_t count)
{{
    return {_mean_text("count", "count / 2", halves_up)};
}}
"""
    rounded = mean_halves_up if halves_up else rounded_mean

    def compute(total: int, count: int) -> int:
        return int(rounded(np.asarray(total, np.int64), np.asarray(count, np.int64)))

    return Function(name, DType.I32, definition, compute)


def _mean_name(name: str, halves_up: bool) -> tuple[str, str]:
    return (
        (f"{name}_halves_up", "half up; |sum| <= 128 * count") if halves_up else (name, "half away from zero")
    )


def _mean_text(count: str, half: str, halves_up: bool) -> str:
    if halves_up:
        return f"(sum + 128 * {count} + {half}) / {count} - 128"
    return f"(sum >= 0 ? sum + {half} : sum - {half}) / {count}"


def clamp_to(low: int, high: int, dtype: DType = DType.I8) -> Function:
    """f(v) -> v within low .. high, as an integer of that type."""
    suffix = "" if dtype is DType.I8 else f"_{dtype.value}"
    name = f"clamp_{low}_{high}{suffix}".replace("-", "m")
    definition = f"""\
static inline {dtype.c_name} {name}(int32_t v)
{{
    return ({dtype.c_name})clamp(v, {parenthesised(low)}, {parenthesised(high)});
}}
"""
    return Function(name, dtype, definition, lambda v: min(max(v, low), high), (), (clamp_function(),))
