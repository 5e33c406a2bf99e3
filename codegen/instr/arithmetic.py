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
from codegen.instr.requantise import clamp_function, doubling_high_mul
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
    scales = "".join(
        f"    const int32_t scaled_{o} = "
        f"{_scaled(f'({o} - {parenthesised(z)}) * (1 << {p.left_shift})', m)};\n"
        for o, z, m in terms
        if z is not None
    )
    total = f" {sign} ".join(o if z is None else f"scaled_{o}" for o, z, _ in terms)
    definition = f"""\
/* {said} in the result's steps, as the reference rounds. */
static inline int8_t {name}(int32_t a, int32_t b)
{{
{scales}    const int32_t v = {_scaled(total, p.out)};
    return (int8_t){result.text};
}}
"""

    def compute(*operands: int) -> int:
        a, b = (
            value if zero is None else _times((value - zero) << p.left_shift, multiplier)
            for value, (_, zero, multiplier) in zip(operands, terms, strict=True)
        )
        return result.of(_times(a + b if sign == "+" else a - b, p.out))

    return _function(name, definition, compute, dsp)


def product_int8(
    multiplier: Multiplier, zero_points: tuple[ZeroPoint, ZeroPoint], result: Result, dsp: bool
) -> Function:
    """f(a, b) -> the stored a * b."""
    numbers = repr((multiplier, (*zero_points, result.zero_point), result.low, result.high))
    name = f"mul_int8_{crc32(numbers.encode()):08x}"
    first, second = (
        o if z is None else f"({o} - {parenthesised(z)})" for o, z in zip("ab", zero_points, strict=True)
    )
    definition = f"""\
/* a * b * {_real(multiplier)} in the result's steps, as the reference rounds. */
static inline int8_t {name}(int32_t a, int32_t b)
{{
    const int32_t v = {_scaled(f"{first} * {second}", multiplier)};
    return (int8_t){result.text};
}}
"""

    def compute(a: int, b: int) -> int:
        first, second = (v - (z or 0) for v, z in zip((a, b), zero_points, strict=True))
        return result.of(_times(first * second, multiplier))

    return _function(name, definition, compute, dsp)


_SUMS = {"+": "add", "-": "sub"}


def _function(name: str, definition: str, compute: Callable[..., int], dsp: bool) -> Function:
    needs = (doubling_high_mul(dsp), DIVIDE_BY_POT, clamp_function())
    return Function(name, DType.I8, definition, compute, (), needs)


def _times(value: int, multiplier: Multiplier) -> int:
    return int(multiply_by_quantized_multiplier(np.int64(value), *multiplier))


def _scaled(value: str, multiplier: Multiplier) -> str:
    mult, shift = multiplier
    operand = f"({value}) * (1 << {shift})" if shift > 0 else value
    high = f"doubling_high_mul({operand}, {mult})"
    return f"divide_by_pot({high}, {-shift})" if shift < 0 else high


def _real(multiplier: Multiplier) -> str:
    mult, shift = multiplier
    return f"{mult / 2**31 * 2.0**shift:.6g}"
