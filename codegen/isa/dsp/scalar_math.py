"""Scalar instructions of the DSP extension: SMMULR, SMMLAR and SSAT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from aot.ir.types import DType
from aot.ops.resize import FRACTION_BITS
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.plain.linear_sum import SumLine
from codegen.isa.plain.scalar_math import CLAMP, PORTABLE, FunctionLines, ScalarMath
from codegen.isa.plain.shares import rounded
from codegen.loops.ir import ScalarFunction


def _instruction(
    name: str,
    parameters: str,
    asm: str,
    compute: Callable[..., int],
    comment: str = "",
    result: str = "result",
) -> ScalarFunction:
    """Returns a function of one instruction, given as the operands of an assembly statement."""
    head = f"/* {comment} */\n" if comment else ""
    definition = f"""\
{head}static inline int32_t {name}({parameters})
{{
    int32_t {result};
    __asm__({asm});
    return {result};
}}
"""
    return ScalarFunction(name, DType.I32, definition, compute, needs=NEEDS)


SATURATE = _instruction(
    "saturate_to_int8",
    "int32_t v",
    '"ssat %0, #8, %1" : "=r"(result) : "r"(v)',
    lambda v: min(max(v, -128), 127),
)


@cache
def _shifted_and_saturated(shift: int) -> ScalarFunction:
    return _instruction(
        f"saturate_to_int8_shift_{shift}",
        "int32_t v",
        f'"ssat %0, #8, %1, asr #{shift}" : "=r"(result) : "r"(v)',
        lambda v: min(max(v >> shift, -128), 127),
    )


def _line(line: SumLine, low: int, high: int) -> FunctionLines:
    """Returns the line with its start split into parts, which compilers prefer as immediates."""
    lines = (
        "int32_t v;",
        f'__asm__("mla %0, %1, %2, %3" : "=r"(v) : "r"(a), "r"({line.first}), "r"({line.start}));',
        f'__asm__("mla %0, %1, %2, %0" : "+r"(v) : "r"(b), "r"({line.second}));',
    )
    if (low, high) != DType.I8.limits:
        return FunctionLines((*lines, f"return clamp(v >> {line.shift}, {low}, {high});"), (CLAMP,), NEEDS)
    saturated = f'__asm__("ssat %0, #8, %0, asr #{line.shift}" : "+r"(v));'
    return FunctionLines((*lines, saturated, "return v;"), (), NEEDS)


_HIGH_MUL = _instruction(
    PORTABLE.high_mul.name,
    "int32_t a, int32_t b",
    '"smmulr %0, %1, %2" : "=r"(result) : "r"(a * 2), "r"(b)',
    PORTABLE.high_mul.compute,
    "round(a * b / 2^31), half up; |a| < 2^30.",
)
_HIGH_MUL_ADD = _instruction(
    PORTABLE.high_mul_add.name,
    "int32_t a, int32_t b, int32_t c",
    '"smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a * 2), "r"(b), "r"(c)',
    PORTABLE.high_mul_add.compute,
    "round(a * b / 2^31) + c, half up; |a| < 2^30.",
)
_HIGH_WORD_ADD = _instruction(
    PORTABLE.high_word_add.name,
    "int32_t a, int32_t b, int32_t c",
    '"smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(c)',
    lambda a, b, c: (a * b + (1 << 31) >> 32) + c,
    "The high word of a * b + 2^31, plus c.",
)
_ROUNDED_SHARE = _instruction(
    PORTABLE.rounded_share.name,
    "int32_t a",
    f'"smmulr %0, %1, %2" : "=r"(share) : "r"(a + (a >> 31)), "r"({1 << 32 - 2 * FRACTION_BITS})',
    rounded,
    f"a / {1 << 2 * FRACTION_BITS}, half away from zero: SMMULR rounds up, a sign is -1.",
    "share",
)


def with_dsp(math: ScalarMath) -> ScalarMath:
    """Returns the functions, with the extension's instructions where available."""
    return replace(
        math,
        high_mul=_HIGH_MUL,
        high_mul_add=_HIGH_MUL_ADD,
        high_word_add=_HIGH_WORD_ADD,
        high_word_half=1 << 31,
        rounded_share=_ROUNDED_SHARE,
        line=_line,
        saturate=SATURATE,
        shifted_and_saturated=_shifted_and_saturated,
    )
