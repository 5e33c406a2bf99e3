"""The end of an integer mean: converts a sum to the stored result."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.mean import MeanParameters
from aot.ops.requant import multiply_by_quantized_multiplier
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.names import mangle
from codegen.isa.plain.requantise import rounded_product
from codegen.isa.plain.scalar import DIVIDE_BY_POT
from codegen.isa.plain.scalar_math import CLAMP, parenthesised
from codegen.loops.ir import ScalarFunction


def stored_mean(p: MeanParameters, zero_sum: int, zero_point: int, dtype: DType) -> ScalarFunction:
    """f(sum) -> the stored mean; `zero_sum` is the sum of as many zero points."""
    if p.rounding is not RequantRounding.DOUBLE:
        return _rounded_once(p, zero_sum, zero_point, dtype)
    low, high = dtype.limits
    name = mangle(f"mean_int{8 * dtype.bytes}", p, zero_sum, zero_point)
    centred = f"sum - {parenthesised(zero_sum)}"
    shifted = f"({centred}) * {1 << p.shift}" if p.shift > 0 else f"({centred})"
    mean = f"divide_by_pot(v, {-p.shift})" if p.shift < 0 else "v"
    definition = f"""\
/* (sum - {zero_sum}) * {p.mult} / 2^31 * 2^({p.shift}), rounded after each division as the reference does. */
static inline {dtype.c_name} {name}(int32_t sum)
{{
    const int32_t v = (int32_t)(((int64_t)({shifted}) * {p.mult} + (INT32_C(1) << 30)) >> 31);
    return ({dtype.c_name})clamp({mean} + {parenthesised(zero_point)}, {low}, {high});
}}
"""

    def compute(total: int) -> int:
        mean = multiply_by_quantized_multiplier(np.int64(total - zero_sum), p.mult, p.shift)
        return min(max(int(mean) + zero_point, low), high)

    calls = (DIVIDE_BY_POT, CLAMP) if p.shift < 0 else (CLAMP,)
    return ScalarFunction(name, dtype, definition, compute, (), calls)


def _rounded_once(p: MeanParameters, zero_sum: int, zero_point: int, dtype: DType) -> ScalarFunction:
    low, high = dtype.limits
    once = f"to_{p.rounding.value}" if p.rounding in PARITY else "once"
    name = mangle(f"mean_{once}_int{8 * dtype.bytes}", p.mult, p.shift, zero_sum, zero_point)
    shift = 31 - p.shift
    product = f"(int64_t)(sum - {parenthesised(zero_sum)}) * {p.mult}"
    definition = f"""\
/* (sum - {zero_sum}) * {p.mult} / 2^{shift}, rounded once. */
static inline {dtype.c_name} {name}(int32_t sum)
{{
{rounded_product(product, shift, p.rounding)}
    return ({dtype.c_name})clamp(v + {parenthesised(zero_point)}, {low}, {high});
}}
"""

    def compute(total: int) -> int:
        once = multiply_by_quantized_multiplier(np.int64(total - zero_sum), p.mult, p.shift, p.rounding)
        return min(max(int(once) + zero_point, low), high)

    return ScalarFunction(name, dtype, definition, compute, (), (CLAMP,))
