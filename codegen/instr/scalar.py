"""Scalar functions of the non-convolution ops: their C text and their exact meaning."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.average_pool2d import rounded_mean
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
    return (v + (int32_t)((1u << exponent) >> 1) + (v >> 31)) >> exponent;
}
""",
    lambda v, exponent: int(rounding_divide_by_pot(np.int64(v), exponent)),
)


def parenthesised(value: int) -> str:
    """A number as an operand in C."""
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
    return (int8_t)clamp(v, {parenthesised(low)}, {parenthesised(high)});
}}
"""
    return Function(name, DType.I8, definition, lambda v: min(max(v, low), high), (), (clamp_function(),))
