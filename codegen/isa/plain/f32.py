"""Functions of floats, and conversions between floats and stored integers: C code and meaning.

Functions of dynamic quantization (aot.ops.own_steps) have a single product or quotient each, so that no
compiler fuses a product with a sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType, Quant
from aot.ops.activation import Activation
from aot.ops.own_steps import DynamicRange, steps_from_zero
from codegen.isa.names import mangle
from codegen.isa.plain.scalar_math import expression_function, parenthesised
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


SYMMETRIC_LIMITS = (-127, 127)  # of numbers in steps
_F32 = DType.F32


STEP_OF_RANGE = expression_function(
    "step_of_range",
    _F32,
    (_F32, _F32),
    "b > a ? (b - a) / 255.0f : 1.0f",
    lambda a, b: _range(a, b, True).step,
    "From a to b in 255 steps.",
)
STEP_OF_REACH = expression_function(
    "step_of_reach",
    _F32,
    (_F32,),
    "a > 0.0f ? a / 127.0f : 1.0f",
    lambda a: _range(0, a, False).step,
    "As far as a in 127 steps.",
)
DISTANCE = f32_function("distance_from_zero", "fabsf(v)", abs, ("math.h",))
INVERSE_OF_STEP = expression_function(
    "inverse_of_step", _F32, (_F32,), "1.0f / a", lambda a: np.float32(1) / np.float32(a)
)
# A symmetric range divides separately: its factor is not the reciprocal of the scale.
INVERSE_OF_REACH = expression_function(
    "inverse_of_reach",
    _F32,
    (_F32,),
    "a > 0.0f ? 127.0f / a : 1.0f",
    lambda a: _range(0, a, False).inverse,
)


def _range(least: float, most: float, is_asymmetric: bool) -> DynamicRange:
    return DynamicRange(np.float32(least), np.float32(most), is_asymmetric)


ZERO_OF_RANGE = ScalarFunction(
    "zero_of_range",
    DType.I32,
    """\
#if DBL_MANT_DIG < 53
#error "zero points as LiteRT computes them need a double of 64 bits: compile with one, or --rounding tflm"
#endif
/* The stored number of 0, rounded half away from 0, by the end of the range where that is more exact. */
static inline int32_t zero_of_range(float least, float most)
{
    const double step = (double)(most - least) / 255.0;
    double from_least;
    double from_most;
    double zero;
    int32_t whole;
    if (!(most > least)) {
        return 0;
    }
    from_least = (double)least / step;
    from_most = (double)most / step;
    zero = 128.0 - from_least < 127.0 + from_most ? -128.0 - from_least : 127.0 - from_most;
    zero = zero < -128.0 ? -128.0 : zero > 127.0 ? 127.0 : zero;
    whole = (int32_t)zero;
    return whole + (zero - (double)whole >= 0.5) - (zero - (double)whole <= -0.5);
}
""",
    lambda least, most: _range(least, most, True).zero,
    ("float.h",),
)

IN_OWN_STEPS = ScalarFunction(
    "in_own_steps",
    DType.I16,
    """\
/* v in steps, rounded half away from 0, within low .. high. */
static inline int16_t in_own_steps(float v, float inverse, int32_t low, int32_t high)
{
    const float steps = v * inverse;
    const float above = steps > (float)low ? steps : (float)low;
    const float near = above < (float)high ? above : (float)high;
    const int32_t whole = (int32_t)near;
    const float rest = near - (float)whole;
    return (int16_t)(whole + (rest >= 0.5f) - (rest <= -0.5f));
}
""",
    lambda v, inverse, low, high: int(steps_from_zero(v, inverse, low, high)),
)

SCALED_SUM = expression_function(
    "scaled_sum",
    _F32,
    (DType.I32, _F32),
    "(float)a * b",
    lambda a, b: np.float32(np.float32(a) * np.float32(b)),
)
