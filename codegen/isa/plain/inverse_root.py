"""1 / sqrt(x) of an integer in C, with twenty fraction bits."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.inverse_root import inverse_root_multipliers
from aot.ops.requant import multiply_by_quantized_multiplier
from codegen.isa.plain.plain import TIMES
from codegen.loops.ir import ScalarFunction

_SHIFT = 20
_SHIFT_TEXT = """\
/* The power of 2 by which 1 / sqrt(x), as inverse_root_mult gives it, is to be shifted; x >= 1. */
static inline int32_t inverse_root_shift(int32_t x)
{
    int32_t shift = -11;
    if (x <= 1) {
        return 0;
    }
    for (; x >= (INT32_C(1) << 29); x /= 4) {
        --shift;
    }
    for (; x < (INT32_C(1) << 27); x *= 4) {
        ++shift;
    }
    return shift;
}
"""
_MULT_TEXT = """\
/* round(a * b / 2^31), half up. */
static inline int64_t fraction_times(int64_t a, int64_t b)
{
    return (a * b + (INT32_C(1) << 30)) >> 31;
}

/* 1 / sqrt(x) as a fraction of 2^31, to be shifted by inverse_root_shift: Newton-Raphson steps with three
   integer bits. */
static inline int32_t inverse_root_mult(int32_t x)
{
    if (x <= 1) {
        return INT32_MAX;
    }
    while (x >= (INT32_C(1) << 29)) {
        x /= 4;
    }
    while (x < (INT32_C(1) << 27)) {
        x *= 4;
    }
    const int64_t half = ((int64_t)(x >> 1) + 1) >> 1;
    int64_t root = INT32_C(1) << 28;
    for (int32_t step = 0; step < 5; ++step) {
        const int64_t cube = fraction_times(fraction_times(root, root), root) * 64;
        const int64_t one_and_a_half = (INT32_C(1) << 28) + (INT32_C(1) << 27);
        root = (fraction_times(one_and_a_half, root) - fraction_times(half, cube)) * 8;
    }
    return (int32_t)fraction_times(root, 1518500250);
}
"""


def _multiplier(x: int) -> tuple[int, int]:
    mult, shift = inverse_root_multipliers(np.asarray([x], np.int64))
    return int(mult[0]), int(shift[0])


ROOT_MULT = ScalarFunction("inverse_root_mult", DType.I32, _MULT_TEXT, lambda x: _multiplier(x)[0])
ROOT_SHIFT = ScalarFunction("inverse_root_shift", DType.I32, _SHIFT_TEXT, lambda x: _multiplier(x)[1])


def _shifted(x: int) -> tuple[int, int]:
    mult, shift = _multiplier(x)
    return mult, shift + _SHIFT


INVERSE_ROOT = ScalarFunction(
    "inverse_root",
    DType.I32,
    f"""\
/* 2^{_SHIFT} / sqrt(x), x >= 1. */
static inline int32_t inverse_root(int32_t x)
{{
    return times(1, inverse_root_mult(x), inverse_root_shift(x) + {_SHIFT});
}}
""",
    lambda x: int(multiply_by_quantized_multiplier(np.int64(1), *_shifted(x))),
    (),
    (TIMES, ROOT_MULT, ROOT_SHIFT),
)
