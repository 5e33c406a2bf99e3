"""1 / sqrt(x) of an integer in C, with twenty fractional bits."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.inverse_root import inverse_root_multipliers
from aot.ops.requant import multiply_by_quantized_multiplier
from codegen.instr.instruction import Function
from codegen.instr.plain import TIMES

_SHIFT = 20
_TEXT = """\
/* round(a * b / 2^31), half up. */
static inline int64_t fraction_times(int64_t a, int64_t b)
{
    return (a * b + (INT32_C(1) << 30)) >> 31;
}

/* 2^20 / sqrt(x), x >= 1: Newton-Raphson steps with three integer bits. */
static inline int32_t inverse_root(int32_t x)
{
    if (x == 1) {
        return times(1, INT32_MAX, 20);
    }
    int32_t shift = -11;
    while (x >= (INT32_C(1) << 29)) {
        x /= 4;
        --shift;
    }
    while (x < (INT32_C(1) << 27)) {
        x *= 4;
        ++shift;
    }
    const int64_t half = ((int64_t)(x >> 1) + 1) >> 1;
    int64_t root = INT32_C(1) << 28;
    for (int32_t step = 0; step < 5; ++step) {
        const int64_t cube = fraction_times(fraction_times(root, root), root) * 64;
        const int64_t one_and_a_half = (INT32_C(1) << 28) + (INT32_C(1) << 27);
        root = (fraction_times(one_and_a_half, root) - fraction_times(half, cube)) * 8;
    }
    root = fraction_times(root, 1518500250);
    return times(1, (int32_t)root, shift + 20);
}
"""


def inverse_root_function() -> Function:
    def compute(x: int) -> int:
        mult, shift = inverse_root_multipliers(np.asarray([x], np.int64))
        return int(multiply_by_quantized_multiplier(np.int64(1), mult[0], shift[0] + _SHIFT))

    return Function("inverse_root", DType.I32, _TEXT, compute, (), (TIMES,))
