"""Sums, differences and products of int8 values with separate scales: C code and exact meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from aot.ir.types import DType
from aot.ops.binary_rescale import AddParameters
from aot.ops.requant import multiply_by_quantized_multiplier
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.names import mangle
from codegen.isa.plain.requantise import before_shift, rounded_product
from codegen.isa.plain.scalar import DIVIDE_BY_POT
from codegen.isa.plain.scalar_math import (
    CLAMP,
    PORTABLE,
    FunctionLines,
    ScalarMath,
    SumLine,
    line_of_sum,
    parenthesised,
)
from codegen.loops.ir import ScalarFunction


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The quantization and the clamp of a stored result."""

    zero_point: int
    low: int
    high: int
    math: ScalarMath = field(default=PORTABLE, repr=False)  # the functions to use

    def of(self, value: int) -> int:
        return min(max(value + self.zero_point, self.low), self.high)


Multiplier = tuple[int, int]  # (mult, shift)
# The value subtracted from an operand before use. None: a constant operand, rescaled at compile time to the
# sum's scale or, for a product, to its zero point.
ZeroPoint = int | None
ZeroPoints = tuple[ZeroPoint, ZeroPoint]
Meaning = Callable[..., int]  # of a and b
_INSTRUCTIONS_OF_A_SUM = 8  # two products, constants, a shift and limits


def sum_int8(
    sign: str,
    p: AddParameters,
    zero_points: ZeroPoints,
    result: StoredResult,
    rounding: RequantRounding = RequantRounding.DOUBLE,
) -> ScalarFunction:
    """f(a, b) -> the stored a + b or a - b."""
    is_double = rounding is RequantRounding.DOUBLE
    kind = f"{SUMS[sign]}_int8" + ("" if is_double else f"_{rounding.value}")
    name = mangle(kind, p, zero_points, result.zero_point, result.low, result.high)
    terms = [
        (operand, zero, multiplier)
        for operand, zero, multiplier in zip("ab", zero_points, (p.first, p.second), strict=True)
    ]
    said = f" {sign} ".join(o if z is None else f"{o} * {_real(m)}" for o, z, m in terms)
    line = line_of(sign, p, zero_points, result) if is_double else None
    if line is None:
        p_in_c = p if is_double or None in zero_points else _least_shifted(p)
        scaled = [_operand(o, z, m, p_in_c.left_shift, result.math) for o, z, m in terms if z is not None]
        total = f" {sign} ".join(o if z is None else f"scaled_{o}" for o, z, _ in terms)
        stored = _stored(total, p.out, result) if is_double else _once(total, p_in_c.out, result, rounding)
        code = sum((*scaled, stored), FunctionLines(()))
    else:
        said += " as one line, found to be exact for every pair of bytes,"
        code = result.math.line(line, result.low, result.high)
    definition = f"""\
/* {said} in the result's steps, as the reference rounds. */
static inline int32_t {name}(int32_t a, int32_t b)
{{
{code.indented(4)}}}
"""

    meaning = sum_meaning(sign, p, zero_points, result, rounding)
    made = _function(name, definition, meaning, code, result.math)
    return replace(made, machine_instructions=_INSTRUCTIONS_OF_A_SUM)


def sum_meaning(
    sign: str, p: AddParameters, zero_points: ZeroPoints, result: StoredResult, rounding: RequantRounding
) -> Meaning:
    """Returns what the stored sum or difference is, for any element type."""
    terms = tuple(zip(zero_points, (p.first, p.second), strict=True))

    def compute(*operands: int) -> int:
        a, b = (
            value if zero is None else times((value - zero) << p.left_shift, multiplier)
            for value, (zero, multiplier) in zip(operands, terms, strict=True)
        )
        return result.of(times(a + b if sign == "+" else a - b, p.out, rounding))

    return compute


def line_of(sign: str, p: AddParameters, zero_points: ZeroPoints, result: StoredResult) -> SumLine | None:
    """Returns the linear function that equals a sum of two int8 values, or None if there is none."""
    first, second = zero_points
    if first is None or second is None:
        return None
    return line_of_sum(sign, p, (first, second), result.zero_point, (result.low, result.high))


def product_int8(
    multiplier: Multiplier,
    zero_points: ZeroPoints,
    result: StoredResult,
    rounding: RequantRounding = RequantRounding.DOUBLE,
) -> ScalarFunction:
    """f(a, b) -> the stored a * b."""
    is_double = rounding is RequantRounding.DOUBLE
    kind = "mul_int8" if is_double else f"mul_int8_{rounding.value}"
    name = mangle(kind, multiplier, zero_points, result.zero_point, result.low, result.high)
    first, second = (
        o if z is None else f"({o} - {parenthesised(z)})" for o, z in zip("ab", zero_points, strict=True)
    )
    total = f"{first} * {second}"
    code = _stored(total, multiplier, result) if is_double else _once(total, multiplier, result, rounding)
    definition = f"""\
/* a * b * {_real(multiplier)} in the result's steps, as the reference rounds. */
static inline int32_t {name}(int32_t a, int32_t b)
{{
{code.indented(4)}}}
"""

    meaning = product_meaning(multiplier, zero_points, result, rounding)
    return _function(name, definition, meaning, code, result.math)


def product_meaning(
    multiplier: Multiplier, zero_points: ZeroPoints, result: StoredResult, rounding: RequantRounding
) -> Meaning:
    """Returns what the stored product is, for any element type."""

    def compute(a: int, b: int) -> int:
        first, second = (v - (z or 0) for v, z in zip((a, b), zero_points, strict=True))
        return result.of(times(first * second, multiplier, rounding))

    return compute


def prelu_int8(
    branches: tuple[Multiplier, Multiplier], zero_points: tuple[int, int], result: StoredResult
) -> ScalarFunction:
    """f(a, b) -> the stored a, or a * b if a is negative, with a multiplier for each."""
    positive, negative = branches
    name = mangle("prelu_int8", branches, zero_points, result)
    x, slope = (f"{o} - {parenthesised(z)}" if z else o for o, z in zip("ab", zero_points, strict=True))
    alone, product = _stored("x", positive, result), _stored(f"x * ({slope})", negative, result)
    definition = f"""\
/* a * {_real(positive)}, or a * b * {_real(negative)} where a is negative, as the reference rounds. */
static inline int32_t {name}(int32_t a, int32_t b)
{{
    const int32_t x = {x};
    if (x >= 0) {{
{alone.indented(8)}    }}
{product.indented(4)}}}
"""

    meaning = prelu_meaning(branches, zero_points, result)
    return _function(name, definition, meaning, alone + product, result.math)


def prelu_meaning(
    branches: tuple[Multiplier, Multiplier], zero_points: tuple[int, int], result: StoredResult
) -> Meaning:
    """Returns what the stored result is, for any element type."""

    def compute(a: int, b: int) -> int:
        x, slope = a - zero_points[0], b - zero_points[1]
        return result.of(times(x, branches[0]) if x >= 0 else times(x * slope, branches[1]))

    return compute


SUMS = {"+": "add", "-": "sub"}
_HALF = 1 << 30  # the multiplier of the operand with the larger scale
_MOST_RIGHT = 22  # the largest shift before which a zero point can be added


def _operand(name: str, zero: int, multiplier: Multiplier, left: int, math: ScalarMath) -> FunctionLines:
    """Returns C code for scaled_<name>: an exact shift if possible, otherwise the reference's rounding."""
    mult, shift = multiplier
    made = f"const int32_t scaled_{name} ="
    centred = f"({name} - {parenthesised(zero)})"
    if mult == _HALF and left - 1 + shift >= 0:
        return FunctionLines((f"{made} {centred} * (INT32_C(1) << {left - 1 + shift});",))
    steps = f"{centred} * (INT32_C(1) << {left})"
    if shift == 0:
        return FunctionLines((f"{made} {math.high_mul.name}({steps}, {mult});",), (math.high_mul,))
    high = f"{math.high_mul_add.name}({steps}, {mult}, {1 << -shift >> 1})"
    is_least = zero == DType.I8.limits[0]  # no value is below it
    rounded = high if is_least else f"({high} + ({centred} >> 31))"
    return FunctionLines((f"{made} {rounded} >> {-shift};",), (math.high_mul_add,))


def _stored(total: str, multiplier: Multiplier, result: StoredResult) -> FunctionLines:
    """Returns C code for the result. Its zero point is added with the rounding term, before the shift."""
    (mult, shift), math = multiplier, result.math
    limits = result.low, result.high
    if not 1 <= -shift <= _MOST_RIGHT:
        moved = math.clamped(f"v + {parenthesised(result.zero_point)}", *limits)
        return _scaled(total, multiplier, math) + FunctionLines((f"return {moved};",), (math.clamp(*limits),))
    rounding = (1 + 2 * result.zero_point) * (1 << -shift) >> 1
    sign_matters = result.low < result.zero_point  # otherwise negative results are clamped
    rounded = f"{'(v + (total >> 31))' if sign_matters else 'v'} >> {-shift}"
    lines = (
        f"const int32_t total = {total};",
        f"const int32_t v = {math.high_mul_add.name}(total, {mult}, {rounding});",
        f"return {math.clamped(rounded, *limits)};",
    )
    return FunctionLines(lines, (math.high_mul_add, math.clamp(*limits)))


def _least_shifted(p: AddParameters) -> AddParameters:
    """Returns the parameters without left shifts that the last shift undoes, if all are powers of two."""
    (mult, shift), operands = p.out, (p.first, p.second)
    spare = min(p.left_shift - 1 + min(shift for _, shift in operands), -shift)
    if spare <= 0 or {mult, *(mult for mult, _ in operands)} != {_HALF}:
        return p
    return replace(p, left_shift=p.left_shift - spare, out=(mult, shift + spare))


def _once(
    total: str, multiplier: Multiplier, result: StoredResult, rounding: RequantRounding
) -> FunctionLines:
    """Returns C code for the result, rounded once. Halves of a power of two need no product."""
    (mult, shift), math, limits = multiplier, result.math, (result.low, result.high)
    zero_point, start = parenthesised(result.zero_point), f"const int32_t total = {total};"
    if rounding in PARITY and mult == _HALF and 0 <= -shift < _MOST_RIGHT:
        half = str((1 + 2 * result.zero_point) << -shift)
        v = f"const int32_t v = {before_shift('total', str(1 - shift), half, rounding)};"
        stored, clamp = math.clamped_shift("v", 1 - shift, *limits)
        return FunctionLines((start, v, f"return {stored};"), (clamp,))
    product = rounded_product(f"(int64_t)total * {mult}", 31 - shift, rounding)
    lines = tuple(line.strip() for line in product.splitlines())
    stored = f"return {math.clamped(f'v + {zero_point}', *limits)};"
    return FunctionLines((start, *lines, stored), (math.clamp(*limits),))


def _function(
    name: str, definition: str, compute: Meaning, code: FunctionLines, math: ScalarMath
) -> ScalarFunction:
    """Returns the function. Its result is I32, so that it is narrowed once, when stored."""
    order = (math.high_mul, math.high_mul_add, DIVIDE_BY_POT, CLAMP, math.saturate)
    calls = tuple(f for f in order if f is not None and f in code.calls)
    calls += tuple(f for f in code.calls if f not in calls)
    return ScalarFunction(name, DType.I32, definition, compute, (), calls, code.needs)


def times(value: int, multiplier: Multiplier, rounding: RequantRounding = RequantRounding.DOUBLE) -> int:
    """Returns the product as the reference rounds it."""
    return int(multiply_by_quantized_multiplier(np.int64(value), *multiplier, rounding))


def _scaled(value: str, multiplier: Multiplier, math: ScalarMath) -> FunctionLines:
    """Returns C code that computes v from the value."""
    (mult, shift), made = multiplier, "const int32_t v ="
    if mult == _HALF and shift > 0:
        return FunctionLines((f"{made} ({value}) * {1 << shift - 1};",))
    operand = f"({value}) * (INT32_C(1) << {shift})" if shift > 0 else value
    high = f"{math.high_mul.name}({operand}, {mult})"
    if shift >= 0:
        return FunctionLines((f"{made} {high};",), (math.high_mul,))
    return FunctionLines((f"{made} divide_by_pot({high}, {-shift});",), (math.high_mul, DIVIDE_BY_POT))


def _real(multiplier: Multiplier) -> str:
    mult, shift = multiplier
    return f"{mult / 2**31 * 2.0**shift:.6g}"
