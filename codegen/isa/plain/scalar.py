"""Scalar functions of ops other than convolutions: means and other quantizations; C code and meaning."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType, Quant
from aot.ops.average_pool2d import Halves, mean
from aot.ops.mean import MeanParameters
from aot.ops.requant import multiply_by_quantized_multiplier, quantize_multiplier, rounding_divide_by_pot
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.names import mangle
from codegen.isa.plain.requantise import rounded_product
from codegen.isa.plain.scalar_math import CLAMP, expression_function, parenthesised
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


def stored_mean(p: MeanParameters, zero_sum: int, zero_point: int, dtype: DType) -> ScalarFunction:
    """f(sum) -> the stored mean; `zero_sum` is the sum of as many zero points."""
    if p.rounding is not RequantRounding.DOUBLE:
        return _rounded_once(p, zero_sum, zero_point, dtype)
    low, high = dtype.limits
    name = mangle(f"mean_int{8 * dtype.bytes}", p, zero_sum, zero_point)
    centred = f"sum - {parenthesised(zero_sum)}"
    shifted = f"({centred}) * {1 << p.shift}" if p.shift > 0 else f"({centred})"
    mean = f"divide_by_pot(v, {-p.shift})" if p.shift < 0 else "v"
    definition = f"""\
/* (sum - {zero_sum}) * {p.mult} / 2^31 * 2^({p.shift}), rounded after each division as the reference does. */
static inline {dtype.c_name} {name}(int32_t sum)
{{
    const int32_t v = (int32_t)(((int64_t)({shifted}) * {p.mult} + (INT32_C(1) << 30)) >> 31);
    return ({dtype.c_name})clamp({mean} + {parenthesised(zero_point)}, {low}, {high});
}}
"""

    def compute(total: int) -> int:
        mean = multiply_by_quantized_multiplier(np.int64(total - zero_sum), p.mult, p.shift)
        return min(max(int(mean) + zero_point, low), high)

    calls = (DIVIDE_BY_POT, CLAMP) if p.shift < 0 else (CLAMP,)
    return ScalarFunction(name, dtype, definition, compute, (), calls)


def _rounded_once(p: MeanParameters, zero_sum: int, zero_point: int, dtype: DType) -> ScalarFunction:
    low, high = dtype.limits
    once = f"to_{p.rounding.value}" if p.rounding in PARITY else "once"
    name = mangle(f"mean_{once}_int{8 * dtype.bytes}", p.mult, p.shift, zero_sum, zero_point)
    shift = 31 - p.shift
    product = f"(int64_t)(sum - {parenthesised(zero_sum)}) * {p.mult}"
    definition = f"""\
/* (sum - {zero_sum}) * {p.mult} / 2^{shift}, rounded once. */
static inline {dtype.c_name} {name}(int32_t sum)
{{
{rounded_product(product, shift, p.rounding)}
    return ({dtype.c_name})clamp(v + {parenthesised(zero_point)}, {low}, {high});
}}
"""

    def compute(total: int) -> int:
        once = multiply_by_quantized_multiplier(np.int64(total - zero_sum), p.mult, p.shift, p.rounding)
        return min(max(int(once) + zero_point, low), high)

    return ScalarFunction(name, dtype, definition, compute, (), (CLAMP,))


def requantise(source: Quant, result: Quant, dtype: DType) -> ScalarFunction:
    """f(stored) -> stored in the other quantization, rounded twice as in the reference."""
    mult, shift = quantize_multiplier(source.scale / result.scale)
    low, high = dtype.limits
    name = mangle(f"requantise_{dtype.value}", source, result)
    centred = f"(v - {parenthesised(source.zero_point)})"
    shifted = f"{centred} * {1 << shift}" if shift > 0 else centred
    rounded = f"divide_by_pot(high, {-shift})" if shift < 0 else "high"
    factor = source.scale / result.scale
    stored = f"{rounded} + {parenthesised(result.zero_point)}"
    if dtype is not DType.I32:
        stored = f"clamp({stored}, {low}, {high})"
    definition = f"""\
/* (v - {source.zero_point}) * {factor:.6g} + {result.zero_point}, within {low} .. {high}. */
static inline {dtype.c_name} {name}(int32_t v)
{{
    const int32_t high = (int32_t)(((int64_t)({shifted}) * {mult} + (INT32_C(1) << 30)) >> 31);
    return ({dtype.c_name}){stored if dtype is not DType.I32 else f"({stored})"};
}}
"""

    def compute(v: int) -> int:
        scaled = multiply_by_quantized_multiplier(np.int64(v - source.zero_point), mult, shift)
        return min(max(int(scaled) + result.zero_point, low), high)

    calls = (*([DIVIDE_BY_POT] if shift < 0 else []), *([CLAMP] if dtype is not DType.I32 else []))
    return ScalarFunction(name, dtype, definition, compute, (), calls)


_BYTES = {
    DType.I8: expression_function(
        "signed_byte", DType.I8, (DType.U8,), "(int8_t)(a - 128)", lambda a: int(a) - 128
    ),
    DType.U8: expression_function(
        "unsigned_byte", DType.U8, (DType.I8,), "(uint8_t)(a + 128)", lambda a: int(a) + 128
    ),
}


def flipped_byte(to: DType) -> ScalarFunction:
    return _BYTES[to]
