"""Dynamic quantization of floats: C code for aot.ops.dynamic_range.

Each function has a single product or quotient, so that no compiler fuses a product with a sum.
"""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.dynamic_range import DynamicRange, steps_from_zero
from codegen.isa.plain.f32 import f32_function
from codegen.isa.plain.plain import expression_function
from codegen.loops.ir import ScalarFunction

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
