"""Scalar instructions of the DSP extension: SMMULR, SMMLAR and SSAT."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from aot.ir.types import DType
from aot.ops.resize import FRACTION_BITS
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.plain.linear_sum import SumLine
from codegen.isa.plain.scalar_math import CLAMP, PORTABLE, FunctionLines, ScalarMath
from codegen.isa.plain.shares import rounded
from codegen.loops.ir import ScalarFunction

SATURATE = ScalarFunction(
    "saturate_to_int8",
    DType.I32,
    """\
static inline int32_t saturate_to_int8(int32_t v)
{
    int32_t result;
    __asm__("ssat %0, #8, %1" : "=r"(result) : "r"(v));
    return result;
}
""",
    lambda v: min(max(v, -128), 127),
    needs=NEEDS,
)


@cache
def _shifted_and_saturated(shift: int) -> ScalarFunction:
    name = f"saturate_to_int8_shift_{shift}"
    definition = f"""\
static inline int32_t {name}(int32_t v)
{{
    int32_t result;
    __asm__("ssat %0, #8, %1, asr #{shift}" : "=r"(result) : "r"(v));
    return result;
}}
"""
    return ScalarFunction(name, DType.I32, definition, lambda v: min(max(v >> shift, -128), 127), needs=NEEDS)


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


_HIGH_MUL = ScalarFunction(
    PORTABLE.high_mul.name,
    DType.I32,
    """\
/* round(a * b / 2^31), half up; |a| < 2^30. */
static inline int32_t doubling_high_mul(int32_t a, int32_t b)
{
    int32_t result;
    __asm__("smmulr %0, %1, %2" : "=r"(result) : "r"(a * 2), "r"(b));
    return result;
}
""",
    PORTABLE.high_mul.compute,
    needs=NEEDS,
)
_HIGH_MUL_ADD = ScalarFunction(
    PORTABLE.high_mul_add.name,
    DType.I32,
    """\
/* round(a * b / 2^31) + c, half up; |a| < 2^30. */
static inline int32_t doubling_high_mul_add(int32_t a, int32_t b, int32_t c)
{
    int32_t result;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a * 2), "r"(b), "r"(c));
    return result;
}
""",
    PORTABLE.high_mul_add.compute,
    needs=NEEDS,
)
_HIGH_WORD_ADD = ScalarFunction(
    PORTABLE.high_word_add.name,
    DType.I32,
    """\
/* The high word of a * b + 2^31, plus c. */
static inline int32_t high_word_mul_add(int32_t a, int32_t b, int32_t c)
{
    int32_t result;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}
""",
    lambda a, b, c: (a * b + (1 << 31) >> 32) + c,
    needs=NEEDS,
)
_ROUNDED_SHARE = ScalarFunction(
    PORTABLE.rounded_share.name,
    DType.I32,
    f"""\
/* a / {1 << 2 * FRACTION_BITS}, half away from zero: SMMULR rounds up, a sign is -1. */
static inline int32_t rounded_share_i32(int32_t a)
{{
    int32_t share;
    __asm__("smmulr %0, %1, %2" : "=r"(share) : "r"(a + (a >> 31)), "r"({1 << 32 - 2 * FRACTION_BITS}));
    return share;
}}
""",
    rounded,
    needs=NEEDS,
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
