"""Polynomials for exponential, tanh and sigmoid, instead of the C library's functions.

e**v is 2**n * e**r with integer n and |r| at most half of ln 2, for which a polynomial of degree five is
accurate to single precision. Adding 1.5 * 2**23 to v / ln 2 rounds it to n and leaves n in the last bits of
the sum. The other functions are derived from it, except tanh near 0: there 1 - 2 / (e**2v + 1) would lose
digits, and an odd polynomial does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log2
from types import MappingProxyType
from typing import Any

import numpy as np

from aot.ir.types import DType
from codegen.isa.plain.f32 import literal
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import (
    Apply,
    Expr,
    Proc,
    ScalarFunction,
    map_values,
)

LARGEST_ERROR = 3e-7  # of a result, relative to the true value
LEAST_RESULT = 2.0**-125  # exponentials and sigmoids below it are 0
STATED = f"exp, tanh and sigmoid by polynomials within {LARGEST_ERROR:g} of their values"
_F = np.float32
_LOW, _HIGH = -86.64339, 88.72283  # ln of the smallest result, and of the largest float
PER_LN2, LN2, LN2_REST = 1.44269504, 0.693359375, -2.12194440e-4
ROUNDS = 12582912.0  # 1.5 * 2**23
# Minimax coefficients for |r| <= ln 2 / 2, and for |v| <= 0.625 in powers of v * v.
EXP_TERMS = (0.4999922850612419, 0.16667116126808157, 0.04189058331405956, 0.008312503976879989)
TANH_TERMS = (-0.33332341119849723, 0.13308173330678294, -0.05194783228237551, 0.015195280586725986)
NEAR = 0.625


def _horner(coefficients: tuple[float, ...], variable: str) -> str:
    *others, last = map(literal, coefficients)
    text = last
    for each in reversed(others):
        text = f"({text} * {variable} + {each})"
    return text


_EXP_TEXT = f"""\
/* e to the power of v, within {LARGEST_ERROR:g} of itself; 0 below 2^{log2(LEAST_RESULT):g}. */
static inline float approximate_exp(float v)
{{
    if (v < {literal(_LOW)}) {{
        return 0.0f;
    }}
    if (v > {literal(_HIGH)}) {{
        return HUGE_VALF;
    }}
    const float sum = v * {literal(PER_LN2)} + {literal(ROUNDS)}; /* its last bits are the power of 2 */
    const float power = sum - {literal(ROUNDS)};
    const float r = (v - power * {literal(LN2)}) - power * {literal(LN2_REST)};
    const float y = {_horner(EXP_TERMS, "r")} * (r * r) + r + 1.0f;
    uint32_t bits;
    float scale;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits << 23) + 0x3f000000u; /* half of it, so that the largest fits */
    memcpy(&scale, &bits, sizeof scale);
    return (y + y) * scale;
}}
"""
_TANH_TEXT = f"""\
/* tanh(v), within {LARGEST_ERROR:g} of itself. */
static inline float approximate_tanh(float v)
{{
    const float size = fabsf(v);
    if (size < {literal(NEAR)}) {{
        const float z = v * v;
        return {_horner(TANH_TERMS, "z")} * z * v + v;
    }}
    const float far = 1.0f - 2.0f / (approximate_exp(size + size) + 1.0f);
    return v < 0.0f ? -far : far;
}}
"""
_SIGMOID_TEXT = f"""\
/* 1 / (1 + e to the power of -v), within {LARGEST_ERROR:g} of itself; 0 below 2^{log2(LEAST_RESULT):g}. */
static inline float approximate_sigmoid(float v)
{{
    return 1.0f / (1.0f + approximate_exp(-v));
}}
"""


def _polynomial(coefficients: tuple[float, ...], variable: np.float32) -> Any:
    total = np.float32(coefficients[-1])
    for each in reversed(coefficients[:-1]):
        product = np.float32(total * variable)
        total = np.float32(product + np.float32(each))
    return total


def _exp(v: float) -> float:
    if v < _F(_LOW):
        return 0.0
    if v > _F(_HIGH):
        return float("inf")
    x = _F(v)
    power = _F(_F(x * _F(PER_LN2) + _F(ROUNDS)) - _F(ROUNDS))
    r = _F(_F(x - _F(power * _F(LN2))) - _F(power * _F(LN2_REST)))
    y = _F(_polynomial(EXP_TERMS, r) * _F(r * r) + r) + _F(1)
    return float(v) if np.isnan(x) else float(np.ldexp(_F(y), int(power)))


def _tanh(v: float) -> float:
    x = _F(v)
    if abs(x) < _F(NEAR):
        z = _F(x * x)
        return float(_F(_F(_polynomial(TANH_TERMS, z) * z) * x + x))
    far = _F(1) - _F(_F(2) / _F(_F(_exp(float(abs(x) + abs(x)))) + _F(1)))
    return float(-far if x < 0 else far)


def _sigmoid(v: float) -> float:
    return float(_F(1) / _F(_F(1) + _F(_exp(-v))))


def _function(
    name: str,
    text: str,
    compute: Callable[[float], float],
    calls: tuple[ScalarFunction, ...] = (),
) -> ScalarFunction:
    includes = ("math.h", "string.h")
    return ScalarFunction(f"approximate_{name}", DType.F32, text, compute, includes, calls)


EXP = _function("exp", _EXP_TEXT, _exp)
TANH = _function("tanh", _TANH_TEXT, _tanh, (EXP,))
SIGMOID = _function("sigmoid", _SIGMOID_TEXT, _sigmoid, (EXP,))
# By the name of the function that it replaces.
_INSTEAD: Mapping[str, ScalarFunction] = MappingProxyType(
    {"real_exp": EXP, "softmax_exp": EXP, "real_tanh": TANH, "real_logistic": SIGMOID}
)


def with_approximations(kernel: Kernel) -> Kernel:
    """Returns the kernel with polynomials for the functions that have them."""
    return kernel.with_loops(_approximated)


def _approximated(proc: Proc) -> Proc:
    return replace(proc, body=tuple(map_values(stmt, _approximate) for stmt in proc.body))


def _approximate(expr: Expr) -> Expr:
    if isinstance(expr, Apply) and expr.function.name in _INSTEAD:
        return replace(expr, function=_INSTEAD[expr.function.name])
    return expr
