"""Scalar functions of ops other than convolutions: C code and exact meaning."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.average_pool2d import Halves, mean
from aot.ops.requant import rounding_divide_by_pot
from codegen.isa.plain.plain import expression_function
from codegen.isa.plain.scalar_math import CLAMP
from codegen.loops.ir import ScalarFunction

DIVIDE_BY_POT = expression_function(
    "divide_by_pot",
    DType.I32,
    {"v": DType.I32, "exponent": DType.I32},
    "(v + (int32_t)((UINT32_C(1) << exponent) >> 1) + (v >> 31)) >> exponent",
    lambda v, exponent: int(rounding_divide_by_pot(np.int64(v), exponent)),
    comment="v / 2^exponent, half away from zero; exponent >= 1.",
)


def _wrapped(total: int) -> int:
    """Wraps a number to int32."""
    return (total + (1 << 31)) % (1 << 32) - (1 << 31)


ADD_WRAPPING = expression_function(
    "add_wrapping",
    DType.I32,
    (DType.I32, DType.I32),
    "(int32_t)((uint32_t)a + (uint32_t)b)",
    lambda a, b: _wrapped(a + b),
    comment="a + b modulo 2^32: the reference's sums wrap around, which signed integers of C must not.",
)


def mean_of(count: int, halves: Halves) -> ScalarFunction:
    """f(sum) -> sum / count, rounded to the nearest."""
    if halves in (Halves.TO_EVEN, Halves.TO_ODD) and count % 2:
        halves = Halves.AWAY  # no sum is halfway
    name, said = _mean_name(f"mean_of_{count}", halves)
    definition = f"""\
/* sum / {count}, {said}. */
static inline int32_t {name}(int32_t sum)
{{
{_mean_text(str(count), str(count // 2), halves)}
}}
"""

    def compute(total: int) -> int:
        return int(mean(np.asarray(total, np.int64), np.asarray(count, np.int64), halves))

    return ScalarFunction(name, DType.I32, definition, compute)


def mean_of_counted(halves: Halves) -> ScalarFunction:
    """f(sum, count) -> sum / count, rounded to the nearest."""
    name, said = _mean_name("mean", halves)
    definition = f"""\
/* sum / count, {said}. */
static inline int32_t {name}(int32_t sum, int32_t count)
{{
{_mean_text("count", "count / 2", halves)}
}}
"""

    def compute(total: int, count: int) -> int:
        return int(mean(np.asarray(total, np.int64), np.asarray(count, np.int64), halves))

    return ScalarFunction(name, DType.I32, definition, compute)


_MEAN_NAMES = {
    Halves.AWAY: ("", "half away from zero"),
    Halves.UP: ("_halves_up", "half up; |sum| <= 128 * count"),
    Halves.TO_EVEN: ("_halves_to_even", "half to even"),
    Halves.TO_ODD: ("_halves_to_odd", "half to odd"),
}


def _mean_name(name: str, halves: Halves) -> tuple[str, str]:
    suffix, said = _MEAN_NAMES[halves]
    return name + suffix, said


def _mean_text(count: str, half: str, halves: Halves) -> str:
    if halves is Halves.UP:
        return f"    return (sum + 128 * {count} + {half}) / {count} - 128;"
    if halves is Halves.AWAY:
        return f"    return (sum >= 0 ? sum + {half} : sum - {half}) / {count};"
    moves = "!= 0" if halves is Halves.TO_EVEN else "== 0"
    return f"""\
    const int32_t size = sum >= 0 ? sum : -sum;
    const int32_t whole = size / {count};
    const int32_t twice = 2 * (size - whole * {count});
    const int32_t nearest = whole + (twice > {count} || (twice == {count} && whole % 2 {moves}));

    return sum >= 0 ? nearest : -nearest;"""


def clamp_to(low: int, high: int, dtype: DType = DType.I8) -> ScalarFunction:
    """f(v) -> v within low .. high, as an integer of that type."""
    suffix = "" if dtype is DType.I8 else f"_{dtype.value}"
    name = f"clamp_{low}_{high}{suffix}".replace("-", "m")
    return expression_function(
        name,
        dtype,
        {"v": DType.I32},
        f"({dtype.c_name})clamp(v, {low}, {high})",
        lambda v: min(max(v, low), high),
        calls=(CLAMP,),
    )
