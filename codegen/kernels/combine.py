"""combine: one C expression of two elements per operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aot.ir.types import DType
from aot.ops.combine import MEANINGS, Combination, Combine
from codegen.formats import RowFormat
from codegen.isa.plain.scalar_math import expression_function, unsigned
from codegen.kernels.elements import applying, element_kernel, element_requests
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import ScalarFunction

_FLOATS = {
    Combination.MAXIMUM: "a > b ? a : b",
    Combination.MINIMUM: "a < b ? a : b",
    Combination.FLOOR_DIV: "(float)floor((double)a / (double)b)",
    Combination.FLOOR_MOD: "fmodf(a, b) + (fmodf(a, b) * b < 0.0f ? b : 0.0f)",
    Combination.REMAINDER: "fmodf(a, b)",
    Combination.POWER: "powf(a, b)",
    Combination.ATAN2: "atan2f(a, b)",
}
# T is the element type, U the unsigned type in which it wraps, N its number of bits minus one.
_INTEGERS = {
    Combination.MAXIMUM: "a > b ? a : b",
    Combination.MINIMUM: "a < b ? a : b",
    Combination.FLOOR_DIV: (
        "({T})(b == 0 ? 0 : b == -1 ? ({T})(0u - ({U})a) : a / b - (a % b != 0 && (a < 0) != (b < 0)))"
    ),
    Combination.FLOOR_MOD: (
        "({T})(b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0))"
    ),
    Combination.REMAINDER: "({T})(b == 0 || b == -1 ? 0 : a % b)",
    Combination.AND: "({T})(a & b)",
    Combination.OR: "({T})(a | b)",
    Combination.XOR: "({T})(a ^ b)",
    Combination.SHIFT_LEFT: "({T})(({U})a << (b < 0 ? 0 : b > {N} ? {N} : b))",
    Combination.SHIFT_RIGHT: "({T})(a >> (b < 0 ? 0 : b > {N} ? {N} : b))",
}
_UNSIGNED = {
    Combination.FLOOR_DIV: "({T})(b == 0 ? 0 : a / b)",
    Combination.FLOOR_MOD: "({T})(b == 0 ? 0 : a % b)",
    Combination.REMAINDER: "({T})(b == 0 ? 0 : a % b)",
    Combination.SHIFT_LEFT: "({T})(({U})a << (b > {N} ? {N} : b))",
    Combination.SHIFT_RIGHT: "({T})(a >> (b > {N} ? {N} : b))",
}


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    table = site_table(site)
    if table is not None and element_requests(site) == (None,):
        return lookup_kernel(site, table, inputs[0], output)
    op = site.op_as(Combine)
    function = _function(op.by, site.input(0).dtype)
    return element_kernel(site, inputs, output, applying(function), f"a {op.by.value}")


def _function(by: Combination, dtype: DType) -> ScalarFunction:
    if dtype is DType.F32:
        text = _FLOATS[by]
    else:
        has_sign = dtype is not DType.BOOL and dtype.limits[0] < 0
        text = (_INTEGERS if has_sign else {**_INTEGERS, **_UNSIGNED})[by]
    expression = text.format(T=dtype.c_name, U=unsigned(dtype), N=dtype.bytes * 8 - 1)
    name, meaning, pair = f"{by.value}_{dtype.value}", _meaning(by, dtype), (dtype, dtype)
    includes = ("math.h",) if dtype is DType.F32 else ()
    return expression_function(name, dtype, pair, expression, meaning, includes=includes)


def _meaning(by: Combination, dtype: DType) -> Callable[[Any, Any], Any]:
    def compute(a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            pair = (np.asarray([v], dtype.numpy) for v in (a, b))
            return np.asarray(MEANINGS[by](*pair)).astype(dtype.numpy)[0].item()

    return compute


KERNEL = OpKernel((Strategy("plain", element_requests, _lower),), frozenset(DType))
