"""Sigmoid and tanh of 16-bit fixed-point numbers in C: the table, and lines between its entries."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.sigmoid_table import SIGMOID_TABLE, sigmoid_16, tanh_16
from codegen.instr.instruction import Function

_PER_LINE = 12
_ROWS = [SIGMOID_TABLE[i : i + _PER_LINE] for i in range(0, len(SIGMOID_TABLE), _PER_LINE)]
_NUMBERS = "\n".join("    " + " ".join(f"{v}," for v in row) for row in _ROWS)

_ENTRY = Function(
    "sigmoid_entry",
    DType.I32,
    f"""\
/* sigmoid(i / 24) as a fraction of 2^16, raised by half of what lines between entries are too low by. */
static const uint16_t sigmoid_entries[256] = {{
{_NUMBERS}
}};

static inline int32_t sigmoid_entry(int32_t i)
{{
    return sigmoid_entries[i];
}}
""",
    lambda i: SIGMOID_TABLE[i],
)


def sigmoid_of(multiplier: int, right: int) -> Function:
    """f(v) -> sigmoid as a fraction of 2**15, of v * multiplier / 2**right / 3 with 12 bits of fraction."""
    name = f"sigmoid_16_times_{multiplier}_right_{right}"
    rounding = f" + {1 << (right - 1)}" if right else ""
    definition = f"""\
/* 1 / (1 + exp(-t)) as a fraction of 2^15, t = v * {multiplier} / 2^{right} / 3 with 12 bits of fraction. */
static inline int32_t {name}(int32_t v)
{{
    const int32_t scaled = (v * {multiplier}{rounding}) >> {right};
    const int32_t size = scaled < 0 ? -scaled : scaled;
    const int32_t step = size >> 9;
    int32_t result = INT32_C(0x7FFF) << 10;
    if (step < 255) {{
        const int32_t entry = sigmoid_entry(step);
        result = (entry << 9) + (size & 0x1FF) * (sigmoid_entry(step + 1) - entry);
    }}
    return (scaled >= 0 ? result + 512 : 33554432 - result + 512 - 1) >> 10; /* 2^9, 2^25 */
}}
"""
    return Function(
        name, DType.I32, definition, lambda v: int(sigmoid_16(np.int64(v), multiplier, right)), (), (_ENTRY,)
    )


def tanh_of(multiplier: int, right: int) -> Function:
    """f(v) -> tanh as a fraction of 2**15, of v * multiplier / 2**right / 3 with 12 bits behind the point."""
    name = f"tanh_16_times_{multiplier}_right_{right}"
    rounding = f" + {1 << (right - 1)}" if right else ""
    definition = f"""\
/* tanh as a fraction of 2^15, of v * {multiplier} / 2^{right} / 3 with 12 bits behind the point. */
static inline int32_t {name}(int32_t v)
{{
    const int32_t scaled = (v * {multiplier}{rounding}) >> {right};
    const int32_t size = scaled < 0 ? -scaled : scaled;
    const int32_t step = size >> 8;
    int32_t result = INT32_C(0xFFFF) << 8;
    if (step < 255) {{
        const int32_t entry = sigmoid_entry(step);
        result = (entry << 8) + (size & 0xFF) * (sigmoid_entry(step + 1) - entry);
    }}
    return (scaled >= 0 ? result - 8388608 + 128 : 8388608 - result + 128 - 1) >> 8; /* 2^23, 2^7 */
}}
"""
    return Function(
        name, DType.I32, definition, lambda v: int(tanh_16(np.int64(v), multiplier, right)), (), (_ENTRY,)
    )
