"""Operations that the FPU of a Cortex-M has in one instruction and that C leaves undefined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aot.ir.types import DType
from codegen.isa.fpu.needs import NEEDS
from codegen.loops.ir import ScalarFunction


def truncation(name: str, compute: Callable[[Any], Any]) -> ScalarFunction:
    """f(a) -> an int32_t. VCVT saturates and converts NaN to 0, which saves comparisons."""
    definition = f"""\
/* a without what is behind the point, the nearest that there is; 0 where a is not a number. */
static inline int32_t {name}(float a)
{{
    int32_t whole;
    __asm__("vcvt.s32.f32 %0, %1" : "=t"(whole) : "t"(a));
    return whole;
}}
"""
    return ScalarFunction(name, DType.I32, definition, compute, needs=NEEDS)
