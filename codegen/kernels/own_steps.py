"""measured_range and in_own_steps: dynamic quantization, one function of the elements of each operand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aot.ir.types import DType
from aot.ops.own_steps import MeasuredRange, RangeFact, fact_of, half_away
from codegen.isa.plain.f32 import (
    INVERSE_OF_REACH,
    INVERSE_OF_STEP,
    STEP_OF_RANGE,
    STEP_OF_REACH,
    ZERO_OF_RANGE,
)
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.elements import element_op
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import OpKernel
from codegen.loops.ir import ScalarFunction

_F32 = DType.F32
_ENDS = {"a": "(a < 0.0f ? a : 0.0f)", "b": "(b > 0.0f ? b : 0.0f)"}
_REACH_OF_ENDS = expression_function(
    "reach_of_ends", _F32, (_F32, _F32), "b > -a ? b : -a", lambda least, most: max(-least, most)
)
_CALLED: Mapping[RangeFact, tuple[str, tuple[ScalarFunction, ...]]] = {
    RangeFact.STEP_OF_REACH: ("step_of_reach(reach_of_ends({a}, {b}))", (_REACH_OF_ENDS, STEP_OF_REACH)),
    RangeFact.INVERSE_OF_REACH: (
        "inverse_of_reach(reach_of_ends({a}, {b}))",
        (_REACH_OF_ENDS, INVERSE_OF_REACH),
    ),
    RangeFact.STEP_OF_RANGE: ("step_of_range({a}, {b})", (STEP_OF_RANGE,)),
    RangeFact.INVERSE_OF_RANGE: (
        "inverse_of_step(step_of_range({a}, {b}))",
        (STEP_OF_RANGE, INVERSE_OF_STEP),
    ),
    RangeFact.LEAST_STEPS: ("(float)(-128 - zero_of_range({a}, {b}))", (ZERO_OF_RANGE,)),
    RangeFact.MOST_STEPS: ("(float)(127 - zero_of_range({a}, {b}))", (ZERO_OF_RANGE,)),
}

_WHOLE_STEPS = ScalarFunction(
    "whole_steps",
    _F32,
    """\
/* v in steps, rounded half away from 0, within low .. high. */
static inline float whole_steps(float v, float inverse, float low, float high)
{
    const float steps = v * inverse;
    const float above = steps > low ? steps : low;
    const float near = above < high ? above : high;
    const int32_t whole = (int32_t)near;
    const float rest = near - (float)whole;
    return (float)(whole + (rest >= 0.5f) - (rest <= -0.5f));
}
""",
    lambda v, inverse, low, high: _whole_steps(v, inverse, low, high),
)


def _whole_steps(v: float, inverse: float, low: float, high: float) -> float:
    with np.errstate(over="ignore"):
        steps = np.float32(v) * np.float32(inverse)
    return float(half_away(np.float32(min(max(steps, low), high))))


def _fact(by: RangeFact) -> ScalarFunction:
    """Returns the function of a range's ends, which may both be on one side of 0."""
    expression, calls = _CALLED[by]

    def compute(least: Any, most: Any) -> float:
        return fact_of(by, least, most)

    text = expression.format(**_ENDS)
    return expression_function(f"measured_{by.value}", _F32, (_F32, _F32), text, compute, calls=calls)


def _what(site: Site) -> str:
    return site.op_as(MeasuredRange).by.value.replace("_", " ")


KERNELS: Mapping[str, OpKernel] = {
    "measured_range": element_op(lambda site: _fact(site.op_as(MeasuredRange).by), _what, frozenset({_F32})),
    "in_own_steps": element_op(lambda site: _WHOLE_STEPS, lambda site: "whole steps", frozenset({_F32})),
}
