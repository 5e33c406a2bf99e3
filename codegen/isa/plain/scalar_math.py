"""The scalar functions of requantization and int8 sums, for which some cores have instructions.

All other code uses these few functions and does not depend on the core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.ir.types import DType
from aot.target import Feature
from codegen.isa.plain.linear_sum import SumLine
from codegen.isa.plain.plain import expression_function
from codegen.isa.plain.shares import rounded_share
from codegen.loops.ir import Instruction, ScalarFunction

CLAMP = expression_function(
    "clamp",
    DType.I32,
    {"v": DType.I32, "low": DType.I32, "high": DType.I32},
    "v < low ? low : v > high ? high : v",
    lambda v, low, high: min(max(v, low), high),
)


@dataclass(frozen=True, slots=True)
class FunctionLines:
    """Lines of a function's body, the functions that they call, and the features that they need."""

    lines: tuple[str, ...]
    calls: tuple[ScalarFunction, ...] = ()
    needs: frozenset[Feature] = frozenset()

    def __add__(self, other: FunctionLines) -> FunctionLines:
        return FunctionLines(self.lines + other.lines, self.calls + other.calls, self.needs | other.needs)

    def indented(self, spaces: int) -> str:
        return "".join(f"{' ' * spaces}{line}\n" for line in self.lines)


@dataclass(frozen=True, slots=True)
class ScalarMath:
    """One core's versions of the common functions, which differ in C code and cost only."""

    high_mul: ScalarFunction  # (a, b) -> round(a * b / 2**31), half up, for |a| < 2**30
    high_mul_add: ScalarFunction  # (a, b, c) -> high_mul(a, b) + c
    high_word_add: ScalarFunction  # (a, b, c) -> the high half of a * b + high_word_half, plus c
    high_word_half: int  # 2^31 if the core rounds, otherwise 0
    rounded_share: ScalarFunction  # f(weighted sum of a resized image) -> rounded element
    line: Callable[
        [SumLine, int, int], FunctionLines
    ]  # returns a sum of int8 a and b, clamped from low to high
    saturate: ScalarFunction | None = None  # to the range of int8, by an instruction
    # shift -> saturates to int8 after a right shift, by one instruction.
    shifted_and_saturated: Callable[[int], ScalarFunction] | None = None
    # (result, count) -> converts several bytes at a time between int8 and uint8.
    flipped_bytes: Callable[[DType, int], Instruction] | None = None

    def clamped(self, value: str, low: int, high: int) -> str:
        """Returns C code that clamps the value."""
        if self.saturate is not None and (low, high) == DType.I8.limits:
            return f"{self.saturate.name}({value})"
        return f"{CLAMP.name}({value}, {low}, {high})"

    def clamped_shift(self, value: str, shift: int, low: int, high: int) -> tuple[str, ScalarFunction]:
        """Returns C code that shifts the value right and clamps it, and the function that it calls."""
        if self.shifted_and_saturated is not None and (low, high) == DType.I8.limits:
            function = self.shifted_and_saturated(shift)
            return f"{function.name}({value})", function
        return self.clamped(f"{value} >> {shift}", low, high), self.clamp(low, high)

    def clamp(self, low: int, high: int) -> ScalarFunction:
        """Returns the function that `clamped` calls."""
        return self.saturate if self.saturate is not None and (low, high) == DType.I8.limits else CLAMP


def parenthesised(value: int) -> str:
    """Returns a number as an operand in C."""
    return f"({value})" if value < 0 else str(value)


def _line(line: SumLine, low: int, high: int) -> FunctionLines:
    start = f"{'-' if line.start < 0 else '+'} {abs(line.start)}"
    value = f"const int32_t v = a * {line.first} + b * {parenthesised(line.second)} {start};"
    return FunctionLines((value, f"return clamp(v >> {line.shift}, {low}, {high});"), (CLAMP,))


PORTABLE = ScalarMath(
    high_mul=expression_function(
        "doubling_high_mul",
        DType.I32,
        (DType.I32, DType.I32),
        "(int32_t)(((int64_t)a * b + (INT32_C(1) << 30)) >> 31)",
        lambda a, b: (a * b + (1 << 30)) >> 31,
        comment="round(a * b / 2^31), half up.",
    ),
    high_mul_add=ScalarFunction(
        "doubling_high_mul_add",
        DType.I32,
        """\
/* round(a * b / 2^31) + c, half up; |a| < 2^30. */
static inline int32_t doubling_high_mul_add(int32_t a, int32_t b, int32_t c)
{
    const int64_t rounding = c * (INT64_C(1) << 32) + (INT64_C(1) << 31);
    return (int32_t)(((int64_t)(a * 2) * b + rounding) >> 32);
}
""",
        lambda a, b, c: ((a * b + (1 << 30)) >> 31) + c,
    ),
    high_word_add=expression_function(
        "high_word_mul_add",
        DType.I32,
        (DType.I32, DType.I32, DType.I32),
        "(int32_t)(((int64_t)a * b) >> 32) + c",
        lambda a, b, c: (a * b >> 32) + c,
        comment="The high word of a * b, plus c.",
    ),
    high_word_half=0,
    rounded_share=rounded_share(DType.I32),
    line=_line,
)
