"""Scalar functions that are a single C expression, of any number of operands of any element types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from aot.ir.types import DType
from aot.ops.requant import multiply_by_quantized_multiplier
from codegen.loops.ir import ScalarFunction

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
