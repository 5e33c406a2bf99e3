"""Curves of 16-bit integers in C: tables and interpolation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType
from aot.ops.curves_16 import (
    SIGMOID_TABLE,
    Table,
    exp_16,
    exp_points,
    on_lines,
    reciprocal_16,
    reciprocal_points,
    share_16,
    sigmoid_16,
    tanh_16,
)
from aot.ops.requant import Ints
from codegen.isa.names import mangle
from codegen.isa.plain.scalar_math import CLAMP, TIMES, Multiplier, expression_function
from codegen.loops.ir import ScalarFunction

# Linear interpolation between the 513 points of a 16-bit curve, in C.

_PER_LINE = 14


def line_function(what: str, table: Table) -> ScalarFunction:
    """f(stored input) -> stored result."""
    name = mangle(f"{what}_line", table.tobytes())
    numbers = [f"{v}," for v in table.tolist()]
    lines = [" ".join(numbers[i : i + _PER_LINE]) for i in range(0, len(numbers), _PER_LINE)]
    listed = "\n".join(f"    {line}" for line in lines)
    definition = f"""\
static const int16_t {name}_points[513] = {{
{listed}
}};

/* {what}, by lines between points that lie 128 stored steps apart. */
static inline int32_t {name}(int32_t v)
{{
    const int32_t first = {name}_points[(v >> 7) + 256];
    const int32_t slope = (int16_t)({name}_points[(v >> 7) + 257] - first);
    return (int16_t)(first + ((slope * (v & 127) + 64) >> 7));
}}
"""
    return ScalarFunction(
        name, DType.I32, definition, lambda v: int(on_lines(np.asarray(v, np.int64), table))
    )


# Sigmoid and tanh of 16-bit fixed-point numbers in C: a table, and interpolation between its entries.

_ENTRIES_PER_LINE = 12
_ROWS = [SIGMOID_TABLE[i : i + _ENTRIES_PER_LINE] for i in range(0, len(SIGMOID_TABLE), _ENTRIES_PER_LINE)]
_NUMBERS = "\n".join("    " + " ".join(f"{v}," for v in row) for row in _ROWS)

ENTRIES = ScalarFunction(
    "sigmoid_entries",
    DType.I32,
    f"""\
/* sigmoid(i / 24) as a fraction of 2^16, raised by half of what lines between entries are too low by. */
static const uint16_t sigmoid_entries[256] = {{
{_NUMBERS}
}};
""",
    lambda i: SIGMOID_TABLE[i],
)
_ENTRY = expression_function(
    "sigmoid_entry",
    DType.I32,
    {"i": DType.I32},
    "sigmoid_entries[i]",
    lambda i: SIGMOID_TABLE[i],
    calls=(ENTRIES,),
)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A curve and its table, whose entries are 2**bits apart."""

    name: str
    formula: str
    behind: str  # end of the comment
    bits: int
    largest: str  # C expression at the table's end
    result: str  # C expression from the fine result for the magnitude of the argument
    compute: Callable[[Ints, int, int], Ints]


_SIGMOID = _Curve(
    name="sigmoid",
    formula="1 / (1 + exp(-t))",
    behind="12 bits of fraction",
    bits=9,
    largest="INT32_C(0x7FFF) << 10",
    result="(scaled >= 0 ? result + 512 : 33554432 - result + 512 - 1) >> 10; /* 2^9, 2^25 */",
    compute=sigmoid_16,
)
_TANH = _Curve(
    name="tanh",
    formula="tanh",
    behind="12 bits behind the point",
    bits=8,
    largest="INT32_C(0xFFFF) << 8",
    result="(scaled >= 0 ? result - 8388608 + 128 : 8388608 - result + 128 - 1) >> 8; /* 2^23, 2^7 */",
    compute=tanh_16,
)


def sigmoid_of(multiplier: int, right: int) -> ScalarFunction:
    """f(v) -> sigmoid as a fraction of 2**15, of v * multiplier / 2**right / 3 with 12 fraction bits."""
    return _of(_SIGMOID, multiplier, right)


def tanh_of(multiplier: int, right: int) -> ScalarFunction:
    """f(v) -> tanh as a fraction of 2**15, of v * multiplier / 2**right / 3 with 12 fraction bits."""
    return _of(_TANH, multiplier, right)


def _of(curve: _Curve, multiplier: int, right: int) -> ScalarFunction:
    name = f"{curve.name}_16_times_{multiplier}_right_{right}"
    rounding = f" + {1 << (right - 1)}" if right else ""
    argument = f"v * {multiplier} / 2^{right} / 3 with {curve.behind}"
    mask = f"0x{(1 << curve.bits) - 1:X}"
    told = f", t = {argument}" if curve.formula.endswith(")") else f", of {argument}"
    definition = f"""\
/* {curve.formula} as a fraction of 2^15{told}. */
static inline int32_t {name}(int32_t v)
{{
    const int32_t scaled = (v * {multiplier}{rounding}) >> {right};
    const int32_t size = scaled < 0 ? -scaled : scaled;
    const int32_t step = size >> {curve.bits};
    int32_t result = {curve.largest};
    if (step < 255) {{
        const int32_t entry = sigmoid_entry(step);
        result = (entry << {curve.bits}) + (size & {mask}) * (sigmoid_entry(step + 1) - entry);
    }}
    return {curve.result}
}}
"""
    return ScalarFunction(
        name,
        DType.I32,
        definition,
        lambda v: int(curve.compute(np.asarray(v, np.int64), multiplier, right)),
        (),
        (_ENTRY,),
    )


def exp_of_difference_16(multiplier: Multiplier) -> ScalarFunction:
    """f(x - max) -> the exponential as a fraction of 2**15."""
    mult, shift = multiplier
    line, name = (
        line_function("exp", exp_points()),
        f"exp_of_difference_16_{mult}_{'m' * (shift < 0)}{abs(shift)}",
    )

    def compute(difference: int) -> int:
        return int(exp_16(np.asarray(difference, np.int64), multiplier))

    return expression_function(
        name,
        DType.I32,
        {"difference": DType.I32},
        f"{line.name}(clamp(times(difference, {mult}, {shift}) + 32767, -32768, 32767))",
        compute,
        comment="exp of a difference to the maximum, as a fraction of 2^15.",
        calls=(TIMES, CLAMP, line),
    )


SUM_BITS = ScalarFunction(
    "sum_bits",
    DType.I32,
    """\
/* The power of 2 that a sum reaches. */
static inline int32_t sum_bits(int32_t sum)
{
    int32_t bits = 0;
    for (; sum > 1; sum >>= 1) {
        ++bits;
    }
    return bits;
}
""",
    lambda total: int(total).bit_length() - 1,
)


def reciprocal_of_sum() -> ScalarFunction:
    """f(sum of exponentials) -> its reciprocal as a fraction of 2**15, before a shift."""
    line = line_function("reciprocal", reciprocal_points())
    definition = f"""\
/* 1 / sum, brought between 1 and 2, as a fraction of 2^15. */
static inline int32_t reciprocal_of_sum(int32_t sum)
{{
    const int32_t scaled = (int32_t)((((int64_t)sum << (30 - sum_bits(sum))) + (1 << 13)) >> 14);
    const int32_t above_one = scaled - 98304; /* 2^15 + 2^16 */
    return {line.name}(clamp(above_one, -32768, 32767));
}}
"""
    return ScalarFunction(
        "reciprocal_of_sum",
        DType.I32,
        definition,
        lambda total: int(reciprocal_16(np.asarray(total, np.int64))),
        (),
        (SUM_BITS, CLAMP, line),
    )


def share_of_sum(exp: ScalarFunction) -> ScalarFunction:
    """f(x - max, reciprocal, bits) -> the stored probability."""
    name = exp.name.replace("exp_of_difference", "share_of_sum")
    definition = f"""\
static inline int16_t {name}(int32_t difference, int32_t reciprocal, int32_t bits)
{{
    const int32_t product = {exp.name}(difference) * reciprocal;
    return (int16_t)clamp((product + (INT32_C(1) << (bits - 1))) >> bits, 0, 32767);
}}
"""

    def compute(difference: int, reciprocal: int, bits: int) -> int:
        return int(share_16(np.int64(exp.meaning(difference)), np.int64(reciprocal), np.int64(bits)))

    return ScalarFunction(name, DType.I16, definition, compute, (), (CLAMP, exp))
