"""Sums, differences and products of int8 values in scales of their own: C text and exact meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from aot.ir.types import DType
from aot.ops.pairs import AddParameters
from aot.ops.requant import multiply_by_quantized_multiplier
from codegen.instr.instruction import Function
from codegen.instr.linear_sum import Line, line_of_sum
from codegen.instr.requantise import SATURATE, clamp_function, doubling_high_mul, doubling_high_mul_add
from codegen.instr.scalar import DIVIDE_BY_POT, parenthesised


@dataclass(frozen=True, slots=True)
class Result:
    """How the result is stored."""

    zero_point: int
    low: int
    high: int

    @property
    def text(self) -> str:
        return f"clamp(v + {parenthesised(self.zero_point)}, {self.low}, {self.high})"

    def of(self, value: int) -> int:
        return min(max(value + self.zero_point, self.low), self.high)


Multiplier = tuple[int, int]  # (mult, shift)
# What is subtracted from an operand before it is used; None: it is a constant, brought to the sum's
# scale (or, of a product, to its zero point) when the code was written.
ZeroPoint = int | None


def sum_int8(
    sign: str, p: AddParameters, zero_points: tuple[ZeroPoint, ZeroPoint], result: Result, dsp: bool
) -> Function:
    """f(a, b) -> the stored a + b or a - b."""
    numbers = repr((p, (*zero_points, result.zero_point), result.low, result.high))
    name = f"{_SUMS[sign]}_int8_{crc32(numbers.encode()):08x}"  # other numbers, another function
    terms = [
        (operand, zero, multiplier)
        for operand, zero, multiplier in zip("ab", zero_points, (p.first, p.second), strict=True)
    ]
    said = f" {sign} ".join(o if z is None else f"{o} * {_real(m)}" for o, z, m in terms)
    line = line_of(sign, p, zero_points, result)
    if line is None:
        scales = [text for o, z, m in terms if z is not None for text in _operand(o, z, m, p.left_shift)]
        total = f" {sign} ".join(o if z is None else f"scaled_{o}" for o, z, _ in terms)
        lines = [*scales, *_stored(total, p.out, result, dsp)]
    else:
        said += " as one line, found to be exact for every pair of bytes,"
        lines = _on_line(line, result, dsp)
    body = "".join(f"    {text}\n" for text in lines)
    definition = f"""\
/* {said} in the result's steps, as the reference rounds. */
static inline int32_t {name}(int32_t a, int32_t b)
{{
{body}}}
"""

    def compute(*operands: int) -> int:
        a, b = (
            value if zero is None else _times((value - zero) << p.left_shift, multiplier)
            for value, (_, zero, multiplier) in zip(operands, terms, strict=True)
        )
        return result.of(_times(a + b if sign == "+" else a - b, p.out))

    return _function(name, definition, compute, dsp)


def line_of(
    sign: str, p: AddParameters, zero_points: tuple[ZeroPoint, ZeroPoint], result: Result
) -> Line | None:
    """Of a sum of two bytes, where there is one."""
    first, second = zero_points
    if first is None or second is None:
        return None
    return line_of_sum(sign, p, (first, second), result.zero_point, (result.low, result.high))


def _on_line(line: Line, result: Result, dsp: bool) -> list[str]:
    is_full = (result.low, result.high) == DType.I8.limits
    if not dsp:
        start = f"{'-' if line.start < 0 else '+'} {abs(line.start)}"
        text = f"const int32_t v = a * {line.first} + b * {parenthesised(line.second)} {start};"
        return [text, f"return clamp(v >> {line.shift}, {result.low}, {result.high});"]
    # Compilers prefer to add the start in several parts, as immediates.
    lines = [
        "int32_t v;",
        f'__asm__("mla %0, %1, %2, %3" : "=r"(v) : "r"(a), "r"({line.first}), "r"({line.start}));',
        f'__asm__("mla %0, %1, %2, %0" : "+r"(v) : "r"(b), "r"({line.second}));',
    ]
    if not is_full:
        return [*lines, f"return clamp(v >> {line.shift}, {result.low}, {result.high});"]
    return [*lines, f'__asm__("ssat %0, #8, %0, asr #{line.shift}" : "+r"(v));', "return v;"]


def product_int8(
    multiplier: Multiplier, zero_points: tuple[ZeroPoint, ZeroPoint], result: Result, dsp: bool
) -> Function:
    """f(a, b) -> the stored a * b."""
    numbers = repr((multiplier, (*zero_points, result.zero_point), result.low, result.high))
    name = f"mul_int8_{crc32(numbers.encode()):08x}"
    first, second = (
        o if z is None else f"({o} - {parenthesised(z)})" for o, z in zip("ab", zero_points, strict=True)
    )
    body = "".join(f"    {line}\n" for line in _stored(f"{first} * {second}", multiplier, result, dsp))
    definition = f"""\
/* a * b * {_real(multiplier)} in the result's steps, as the reference rounds. */
static inline int32_t {name}(int32_t a, int32_t b)
{{
{body}}}
"""

    def compute(a: int, b: int) -> int:
        first, second = (v - (z or 0) for v, z in zip((a, b), zero_points, strict=True))
        return result.of(_times(first * second, multiplier))

    return _function(name, definition, compute, dsp)


def prelu_int8(
    branches: tuple[Multiplier, Multiplier], zero_points: tuple[int, int], result: Result, dsp: bool
) -> Function:
    """f(a, b) -> the stored a, or a * b where a is negative; a multiplier for each."""
    positive, negative = branches
    name = f"prelu_int8_{crc32(repr((branches, zero_points, result)).encode()):08x}"
    x, slope = (f"{o} - {parenthesised(z)}" if z else o for o, z in zip("ab", zero_points, strict=True))
    alone = "".join(f"        {line}\n" for line in _stored("x", positive, result, dsp))
    product = "".join(f"    {line}\n" for line in _stored(f"x * ({slope})", negative, result, dsp))
    definition = f"""\
/* a * {_real(positive)}, or a * b * {_real(negative)} where a is negative, as the reference rounds. */
static inline int32_t {name}(int32_t a, int32_t b)
{{
    const int32_t x = {x};
    if (x >= 0) {{
{alone}    }}
{product}}}
"""

    def compute(a: int, b: int) -> int:
        x, slope = a - zero_points[0], b - zero_points[1]
        return result.of(_times(x, positive) if x >= 0 else _times(x * slope, negative))

    return _function(name, definition, compute, dsp)


_SUMS = {"+": "add", "-": "sub"}
_HALF = 1 << 30  # the multiplier of an operand whose scale is the larger one
_MOST_RIGHT = 22  # so far a zero point can be added before the shift


def _operand(name: str, zero: int, multiplier: Multiplier, left: int) -> list[str]:
    """C that makes scaled_<name>: a shift where that is exact, else rounded as often as by the reference."""
    mult, shift = multiplier
    centred = f"({name} - {parenthesised(zero)})"
    if mult == _HALF and left - 1 + shift >= 0:
        return [f"const int32_t scaled_{name} = {centred} * (INT32_C(1) << {left - 1 + shift});"]
    steps = f"{centred} * (INT32_C(1) << {left})"
    if shift == 0:
        return [f"const int32_t scaled_{name} = doubling_high_mul({steps}, {mult});"]
    high = f"doubling_high_mul_add({steps}, {mult}, {1 << -shift >> 1})"
    if zero == DType.I8.limits[0]:  # nothing is below the least
        return [f"const int32_t scaled_{name} = {high} >> {-shift};"]
    return [f"const int32_t scaled_{name} = ({high} + ({centred} >> 31)) >> {-shift};"]


def _stored(total: str, multiplier: Multiplier, result: Result, dsp: bool) -> list[str]:
    """C that returns the result: its zero point is added with half a step, before the shift."""
    mult, shift = multiplier
    full = dsp and (result.low, result.high) == DType.I8.limits
    if not 1 <= -shift <= _MOST_RIGHT:
        stored = f"saturate_to_int8(v + {parenthesised(result.zero_point)})" if full else result.text
        return [f"const int32_t v = {_scaled(total, multiplier)};", f"return {stored};"]
    rounding = (1 + 2 * result.zero_point) * (1 << -shift) >> 1
    sign_matters = result.low < result.zero_point  # else what is negative is clamped
    rounded = f"{'(v + (total >> 31))' if sign_matters else 'v'} >> {-shift}"
    clamped = f"saturate_to_int8({rounded})" if full else f"clamp({rounded}, {result.low}, {result.high})"
    return [
        f"const int32_t total = {total};",
        f"const int32_t v = doubling_high_mul_add(total, {mult}, {rounding});",
        f"return {clamped};",
    ]


def _function(name: str, definition: str, compute: Callable[..., int], dsp: bool) -> Function:
    """Of result I32, so that storing it narrows it once."""
    multiplications = (doubling_high_mul(dsp), doubling_high_mul_add(dsp))
    helpers = (*multiplications, DIVIDE_BY_POT, clamp_function(), SATURATE)
    needs = tuple(f for f in helpers if f"{f.name}(" in definition)
    return Function(name, DType.I32, definition, compute, (), needs)


def _times(value: int, multiplier: Multiplier) -> int:
    return int(multiply_by_quantized_multiplier(np.int64(value), *multiplier))


def _scaled(value: str, multiplier: Multiplier) -> str:
    mult, shift = multiplier
    if mult == _HALF and shift > 0:
        return f"({value}) * {1 << shift - 1}"
    operand = f"({value}) * (INT32_C(1) << {shift})" if shift > 0 else value
    high = f"doubling_high_mul({operand}, {mult})"
    return f"divide_by_pot({high}, {-shift})" if shift < 0 else high


def _real(multiplier: Multiplier) -> str:
    mult, shift = multiplier
    return f"{mult / 2**31 * 2.0**shift:.6g}"
