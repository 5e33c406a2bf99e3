"""Sigmoid and tanh of 16-bit fixed-point numbers in C: a table, and interpolation between its entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType
from aot.ops.requant import Ints
from aot.ops.sigmoid_table import SIGMOID_TABLE, sigmoid_16, tanh_16
from codegen.loops.ir import ScalarFunction

_PER_LINE = 12
_ROWS = [SIGMOID_TABLE[i : i + _PER_LINE] for i in range(0, len(SIGMOID_TABLE), _PER_LINE)]
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
_ENTRY = ScalarFunction(
    "sigmoid_entry",
    DType.I32,
    """\
static inline int32_t sigmoid_entry(int32_t i)
{
    return sigmoid_entries[i];
}
""",
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
