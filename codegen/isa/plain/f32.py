"""Functions of floats, and conversions between floats and stored integers: C code and meaning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType, Quant
from aot.ops.activation import Activation
from codegen.isa.names import mangle
from codegen.isa.plain.plain import expression_function
from codegen.isa.plain.scalar_math import parenthesised
from codegen.loops.ir import ScalarFunction


def clamp_f32(activation: Activation) -> ScalarFunction:
    """f(v) -> v within the activation's range."""
    low, high = activation.real_limits
    name = f"real_{activation.value}"
    text = "v"
    if math.isfinite(high):
        text = f"v > {literal(high)} ? {literal(high)} : {text}"
    if math.isfinite(low):
        text = f"v < {literal(low)} ? {literal(low)} : {text}"
    return f32_function(name, text, lambda v: min(max(v, low), high))


def f32_function(
    name: str,
    expression: str,
    compute: Callable[[float], float],
    includes: tuple[str, ...] = (),
) -> ScalarFunction:
    """f(v) -> the C expression of v."""
    return expression_function(name, DType.F32, {"v": DType.F32}, expression, compute, includes=includes)


def _fused(a: float, b: float, total: float) -> float:
    return float(np.float32(float(a) * float(b) + float(total)))


FUSED = expression_function(
    "real_fused",
    DType.F32,
    {"a": DType.F32, "b": DType.F32, "total": DType.F32},
    "fmaf(a, b, total)",
    _fused,
    comment="total + a * b, rounded once: VFMA.",
    includes=("math.h",),
)


APART = ScalarFunction(
    "real_added",
    DType.F32,
    """\
/* A product and a sum stay two instructions, VMUL and VADD: VFMA takes longer than both on this core. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* total + a * b, both rounded. */
static inline float real_added(float a, float b, float total)
{
    return total + a * b;
}
""",
    lambda a, b, total: float(np.float32(total) + np.float32(a) * np.float32(b)),
)


def quantise_f32(quant: Quant, dtype: DType, halves_to_even: bool = False) -> ScalarFunction:
    """f(v) -> v divided by the scale, rounded to the nearest integer, and stored."""
    low, high = dtype.limits
    first, last = low - quant.zero_point, high - quant.zero_point
    scale = literal(quant.scale)
    base = f"quantise_{dtype.value}{'_even' if halves_to_even else ''}"
    name = mangle(base, quant.scale, quant.zero_point)
    rounding = _HALVES_TO_EVEN if halves_to_even else _HALVES_AWAY
    definition = f"""\
/* v / {scale} {rounding.comment}, plus {quant.zero_point}, within {low} .. {high}. */
static inline {dtype.c_name} {name}(float v)
{{
    const float steps = v / {scale};
    const float above = steps > {literal(first)} ? steps : {literal(first)};
    const float near = above < {literal(last)} ? above : {literal(last)};
    const int32_t whole = (int32_t)near;
    const float rest = near - (float)whole;
    return ({dtype.c_name})({rounding.text} + {parenthesised(quant.zero_point)});
}}
"""

    def compute(v: float) -> int:
        steps = float(np.float32(v) / np.float32(quant.scale))
        return rounding.compute(min(max(steps, first), last)) + quant.zero_point

    return ScalarFunction(name, dtype, definition, compute)


@dataclass(frozen=True)
class _Rounding:
    """Rounds `near` to an integer, given its `whole` part and the `rest`."""

    comment: str
    text: str
    compute: Callable[[float], int]


def _half_away(near: float) -> int:
    whole = int(near)
    return whole + (near - whole >= 0.5) - (near - whole <= -0.5)


_HALVES_AWAY = _Rounding(
    "rounded half away from zero", "whole + (rest >= 0.5f) - (rest <= -0.5f)", _half_away
)
_HALVES_TO_EVEN = _Rounding(
    "rounded half to even",
    "whole + (rest > 0.5f || (rest >= 0.5f && whole % 2)) - (rest < -0.5f || (rest <= -0.5f && whole % 2))",
    round,
)


def f32_of(quant: Quant) -> ScalarFunction:
    """f(stored) -> the float that it represents."""
    name = mangle("real_of", quant.scale, quant.zero_point)
    scale, zero_point = np.float32(quant.scale), quant.zero_point
    return expression_function(
        name,
        DType.F32,
        {"stored": DType.I32},
        f"(float)(stored - {parenthesised(quant.zero_point)}) * {literal(quant.scale)}",
        lambda stored: float(np.float32(stored - zero_point) * scale),
    )


def literal(value: float) -> str:
    """Returns a float constant in C that reads back as the same number; math.h has infinities and NaN."""
    if not math.isfinite(value):
        return "NAN" if math.isnan(value) else f"{'-' if value < 0 else ''}INFINITY"
    return _suffixed(str(np.float32(value)))


def literals(values: Array) -> list[str]:
    """Returns the literals of many single-precision numbers."""
    if not np.isfinite(values).all():
        return list(map(literal, values.tolist()))
    return list(map(_suffixed, map(str, values)))


def _suffixed(text: str) -> str:
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
