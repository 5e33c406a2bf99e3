"""Scalar functions in C: single expressions, and those for which some cores have instructions.

All other code uses the few functions of `ScalarMath` and does not depend on the core.

`linear_sum` is a sum of two int8 values as one line: (a * first + b * second + start) >> shift, clamped. The
reference rounds each operand and the result. There are only 65,536 pairs of values, so a search at compile
time finds integers with which the line equals the reference for every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from aot.ir.types import DType
from aot.ops.binary_rescale import AddParameters
from aot.ops.requant import Ints, multiply_by_quantized_multiplier
from aot.ops.resize import FRACTION_BITS
from aot.target import Feature
from codegen.loops.ir import Instruction, ScalarFunction

Multiplier = tuple[int, int]  # (mult, shift)
_PARAMETERS = "abcdefgh"

TIMES = ScalarFunction(
    "times",
    DType.I32,
    """\
/* v * mult / 2^31 * 2^shift, rounded after each division as the reference does. */
static inline int32_t times(int32_t v, int32_t mult, int32_t shift)
{
    const int32_t shifted = shift > 0 ? (int32_t)((uint32_t)v << shift) : v;
    const int64_t high = ((int64_t)shifted * mult + (INT32_C(1) << 30)) >> 31;
    if (shift >= 0) {
        return (int32_t)high;
    }
    return (int32_t)((high + (((int64_t)1 << -shift) >> 1) + (high >> 63)) >> -shift);
}
""",
    lambda v, mult, shift: int(multiply_by_quantized_multiplier(np.int64(v), mult, shift)),
)


def expression_function(
    name: str,
    result: DType,
    parameters: Sequence[DType] | Mapping[str, DType],
    expression: str,
    compute: Callable[..., Any],
    comment: str = "",
    includes: tuple[str, ...] = (),
    calls: tuple[ScalarFunction, ...] = (),
) -> ScalarFunction:
    """Returns a function of a C expression that has the result's type. Unnamed parameters are a, b, ..."""
    if not isinstance(parameters, Mapping):
        parameters = dict(zip(_PARAMETERS, parameters, strict=False))
    listed = ", ".join(f"{dtype.c_name} {parameter}" for parameter, dtype in parameters.items())
    head = f"/* {comment} */\n" if comment else ""
    definition = f"""\
{head}static inline {result.c_name} {name}({listed})
{{
    return {expression};
}}
"""
    return ScalarFunction(name, result, definition, compute, includes, calls)


def wrapped(value: int, dtype: DType) -> int:
    """Wraps a number to the type."""
    bits = dtype.bytes * 8
    kept = value & ((1 << bits) - 1)
    signed = dtype.limits[0] < 0
    return kept - (1 << bits) if signed and kept >> (bits - 1) else kept


def unsigned(dtype: DType) -> str:
    """Returns the unsigned C type in which integers of that type may wrap."""
    return "uint64_t" if dtype.bytes == 8 else "uint32_t"


def rounded_share(wide: DType) -> ScalarFunction:
    """f(sum) -> the element, rounded half away from zero, in integers of that type."""
    half = 1 << (2 * FRACTION_BITS - 1)
    text = f"(a + {half} + (a >> {8 * wide.bytes - 1})) >> {2 * FRACTION_BITS}"
    says = f"a / {2 * half}, half away from zero: a sign is -1."
    return expression_function(f"rounded_share_{wide.value}", wide, (wide,), text, rounded, says)


def rounded(total: int) -> int:
    """Returns the value that the functions compute."""
    magnitude = (abs(total) + (1 << (2 * FRACTION_BITS - 1))) >> (2 * FRACTION_BITS)
    return magnitude if total > 0 else -magnitude


_BYTES: npt.NDArray[np.int64] = np.arange(-128, 128, dtype=np.int64)
_LIMIT = 1 << 31
_REACH = 4  # factors to try on either side of the nearest ones
_FINENESSES = 3  # shifts to try
_SHIFTS = range(24, 1, -1)  # finest first; all are possible with two narrowing shifts on Helium


@dataclass(frozen=True, slots=True)
class SumLine:
    first: int
    second: int
    start: int
    shift: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The least and greatest results that a line may have for every pair of operands."""

    least: Ints  # bound of (line >> shift)
    most: Ints


@lru_cache(maxsize=256)
def line_of_sum(
    sign: str, p: AddParameters, zero_points: tuple[int, int], zero_point: int, limits: tuple[int, int]
) -> SumLine | None:
    """Searches for a line that equals the stored a + b or a - b, clamped to limits; None if there is none."""
    slopes = _slopes(sign, p)
    wanted = _wanted(sign, p, zero_points, zero_point, limits)
    reach = 128 * (abs(slopes[0]) + abs(slopes[1]))
    fitting = [shift for shift in _SHIFTS if reach * (1 << shift) < _LIMIT]
    for shift in fitting[:_FINENESSES]:
        found = _fitting_line(slopes, shift, wanted, limits)
        if found is not None:
            return found
    return None


def _slopes(sign: str, p: AddParameters) -> tuple[float, float]:
    first, second, out = (mult / 2.0**31 * 2.0**shift for mult, shift in (p.first, p.second, p.out))
    steps = out * (1 << p.left_shift)
    return first * steps, second * steps * (1 if sign == "+" else -1)


def _wanted(
    sign: str, p: AddParameters, zero_points: tuple[int, int], zero_point: int, limits: tuple[int, int]
) -> _Wanted:
    a, b = (
        multiply_by_quantized_multiplier((_BYTES - zero) << p.left_shift, *multiplier)
        for zero, multiplier in zip(zero_points, (p.first, p.second), strict=True)
    )
    total = a[:, None] + (b if sign == "+" else -b)[None, :]
    stored = np.clip(multiply_by_quantized_multiplier(total, *p.out) + zero_point, *limits)
    beyond = 1 << 20  # clamped results are unbounded on one side
    least = np.where(stored > limits[0], stored, -beyond)
    return _Wanted(least, np.where(stored < limits[1], stored, beyond))


def _fitting_line(
    slopes: tuple[float, float], shift: int, wanted: _Wanted, limits: tuple[int, int]
) -> SumLine | None:
    near = [round(slope * (1 << shift)) for slope in slopes]
    steps = range(-_REACH, _REACH + 1)
    for one, other in sorted(product(steps, steps), key=lambda s: abs(s[0]) + abs(s[1])):
        first, second = near[0] + one, near[1] + other
        without = (_BYTES * first)[:, None] + (_BYTES * second)[None, :]
        low = int(((wanted.least << shift) - without).max())
        high = int((((wanted.most + 1) << shift) - 1 - without).min())
        start = (low + high) // 2
        if low <= high and int(np.abs(without).max()) + abs(start) < _LIMIT:
            return SumLine(first, second, start, shift)
    return None


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
