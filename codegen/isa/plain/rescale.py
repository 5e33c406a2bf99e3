"""Converts stored integers between quantizations, if a table would be too large."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType, Quant
from aot.ops.requant import multiply_by_quantized_multiplier, quantize_multiplier
from codegen.isa.names import mangle
from codegen.isa.plain.plain import expression_function
from codegen.isa.plain.scalar import DIVIDE_BY_POT
from codegen.isa.plain.scalar_math import CLAMP, parenthesised
from codegen.loops.ir import ScalarFunction


def requantise(source: Quant, result: Quant, dtype: DType) -> ScalarFunction:
    """f(stored) -> stored in the other quantization, rounded twice as in the reference."""
    mult, shift = quantize_multiplier(source.scale / result.scale)
    low, high = dtype.limits
    name = mangle(f"requantise_{dtype.value}", source, result)
    centred = f"(v - {parenthesised(source.zero_point)})"
    shifted = f"{centred} * {1 << shift}" if shift > 0 else centred
    rounded = f"divide_by_pot(high, {-shift})" if shift < 0 else "high"
    factor = source.scale / result.scale
    stored = f"{rounded} + {parenthesised(result.zero_point)}"
    if dtype is not DType.I32:
        stored = f"clamp({stored}, {low}, {high})"
    definition = f"""\
/* (v - {source.zero_point}) * {factor:.6g} + {result.zero_point}, within {low} .. {high}. */
static inline {dtype.c_name} {name}(int32_t v)
{{
    const int32_t high = (int32_t)(((int64_t)({shifted}) * {mult} + (INT32_C(1) << 30)) >> 31);
    return ({dtype.c_name}){stored if dtype is not DType.I32 else f"({stored})"};
}}
"""

    def compute(v: int) -> int:
        scaled = multiply_by_quantized_multiplier(np.int64(v - source.zero_point), mult, shift)
        return min(max(int(scaled) + result.zero_point, low), high)

    calls = (*([DIVIDE_BY_POT] if shift < 0 else []), *([CLAMP] if dtype is not DType.I32 else []))
    return ScalarFunction(name, dtype, definition, compute, (), calls)


_BYTES = {
    DType.I8: expression_function(
        "signed_byte", DType.I8, (DType.U8,), "(int8_t)(a - 128)", lambda a: int(a) - 128
    ),
    DType.U8: expression_function(
        "unsigned_byte", DType.U8, (DType.I8,), "(uint8_t)(a + 128)", lambda a: int(a) + 128
    ),
}


def flipped_byte(to: DType) -> ScalarFunction:
    return _BYTES[to]
