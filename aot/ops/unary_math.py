"""Functions of one number, in floats, in plain integers and in quantized ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers
from aot.ops.curves_16 import Table, on_lines, points
from aot.ops.elementwise import Elementwise
from aot.ops.fixed_point import inverse_root_multipliers
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import Ints, multiply_by_quantized_multiplier, quant_of, quantize_multiplier


class MathFunction(Enum):
    """A function; the value is its name in graph text."""

    ABS = "abs"
    NEGATE = "negate"
    SIGN = "sign"
    SQUARE = "square"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    RECIPROCAL = "reciprocal"
    EXP = "exp"
    LOG = "log"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    ERF = "erf"
    CEIL = "ceil"
    FLOOR = "floor"
    ROUND = "round"
    NOT = "not"
    ELU = "elu"
    GELU = "gelu"
    GELU_BY_TANH = "gelu_by_tanh"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"


_erf: Callable[[Any], Any] = np.vectorize(math.erf, otypes=[np.float64])
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def _gelu_by_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x**3)))


# In float64, rounded to f32 afterwards: the most precise reference available.
FLOAT_FUNCTIONS: Mapping[MathFunction, Callable[[Any, float], Any]] = {
    MathFunction.ABS: lambda x, _: np.abs(x),
    MathFunction.NEGATE: lambda x, _: -x,
    MathFunction.SIGN: lambda x, _: np.sign(x),
    MathFunction.SQUARE: lambda x, _: x * x,
    MathFunction.SQRT: lambda x, _: np.sqrt(x),
    MathFunction.RSQRT: lambda x, _: 1 / np.sqrt(x),
    MathFunction.RECIPROCAL: lambda x, _: 1 / x,
    MathFunction.EXP: lambda x, _: np.exp(x),
    MathFunction.LOG: lambda x, _: np.log(x),
    MathFunction.SIN: lambda x, _: np.sin(x),
    MathFunction.COS: lambda x, _: np.cos(x),
    MathFunction.TAN: lambda x, _: np.tan(x),
    MathFunction.ASIN: lambda x, _: np.arcsin(x),
    MathFunction.ACOS: lambda x, _: np.arccos(x),
    MathFunction.ATAN: lambda x, _: np.arctan(x),
    MathFunction.SINH: lambda x, _: np.sinh(x),
    MathFunction.COSH: lambda x, _: np.cosh(x),
    MathFunction.ASINH: lambda x, _: np.arcsinh(x),
    MathFunction.ACOSH: lambda x, _: np.arccosh(x),
    MathFunction.ATANH: lambda x, _: np.arctanh(x),
    MathFunction.ERF: lambda x, _: _erf(x),
    MathFunction.CEIL: lambda x, _: np.ceil(x),
    MathFunction.FLOOR: lambda x, _: np.floor(x),
    MathFunction.ROUND: lambda x, _: np.round(x),  # half to even
    MathFunction.ELU: lambda x, alpha: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
    MathFunction.GELU: lambda x, _: 0.5 * x * (1 + _erf(x * math.sqrt(0.5))),
    MathFunction.GELU_BY_TANH: lambda x, _: _gelu_by_tanh(x),
    MathFunction.SOFTPLUS: lambda x, _: np.logaddexp(x, 0),
    MathFunction.SOFTSIGN: lambda x, _: x / (1 + np.abs(x)),
}
INTEGERS: Mapping[MathFunction, Callable[[Any], Any]] = {
    MathFunction.ABS: np.abs,
    MathFunction.NEGATE: np.negative,
    MathFunction.SIGN: np.sign,
    MathFunction.SQUARE: lambda x: x * x,
    MathFunction.NOT: np.invert,
}
_OF_16 = (MathFunction.ABS, MathFunction.EXP, MathFunction.RSQRT)
_RSQRT_SHIFT = 20  # keeps the inverse root an integer


def _elements(op: UnaryMath, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, (y,) = required(inputs[0]), outputs
    if x.dtype is not y.dtype:
        return f"{x.dtype.value} would become {y.dtype.value}"
    if x.dtype is DType.F32:
        allowed = op.of in FLOAT_FUNCTIONS
    elif x.quant is not None or y.quant is not None:
        allowed = op.of in FLOAT_FUNCTIONS and (
            x.dtype is DType.I8 or (x.dtype is DType.I16 and op.of in _OF_16)
        )
    else:
        allowed = op.of is MathFunction.NOT if x.dtype is DType.BOOL else op.of in INTEGERS
    return None if allowed else f"{op.of.value} of {x.dtype.value}"


def _quantised(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [t.quant for t in (required(inputs[0]), *outputs)]
    if all(q is None for q in found):
        return None
    return None if all(q is not None and not q.is_per_channel for q in found) else "not every tensor has one"


@dataclass(frozen=True, slots=True)
class UnaryMath(Elementwise):
    """Input: x. `alpha` scales elu below 0. Rounds halves to even."""

    name: ClassVar[str] = "unary_math"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        Constraint(
            "f32 and quantized i8 support all functions except not, quantized i16 supports abs, exp and "
            "rsqrt, "
            "unquantized integers support abs, negate, sign, square and not (bool only not)",
            _elements,
        ),
        Constraint("quantized inputs and outputs must both have one scale and one zero point", _quantised),
    )
    of: MathFunction = MathFunction.ABS
    alpha: float = 1.0

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type, (out,) = required(arrays[0]), required(inputs[0]), outputs
        with np.errstate(all="ignore"):
            if x_type.dtype is DType.F32:
                return (np.asarray(FLOAT_FUNCTIONS[self.of](x.astype(np.float64), self.alpha), np.float32),)
            if x_type.quant is None:
                return (np.asarray(INTEGERS[self.of](x)).astype(out.dtype.numpy),)
            return (clamp_integers(self._quantised(x, x_type, out), Activation.NONE, out),)

    def _quantised(self, x: Array, x_type: TensorType, out: TensorType) -> Ints:
        centred = x.astype(np.int64) - quant_of(x_type).zero_point
        if self.of is MathFunction.ABS:
            return absolute(np.abs(centred), x_type, out)
        if self.of is MathFunction.RSQRT:
            return _inverse_roots(centred, x_type, out)
        if x_type.dtype is DType.I16:
            return on_lines(x.astype(np.int64), exp_points(x_type, out))
        # Like the references' tables: single precision, half away from zero.
        floats = centred.astype(np.float32) * np.float32(quant_of(x_type).scale)
        results = np.asarray(FLOAT_FUNCTIONS[self.of](floats, self.alpha), np.float32)
        # NaN becomes the smallest integer, as in the references.
        steps = np.nan_to_num(results * np.float32(1 / np.float32(quant_of(out).scale)), nan=-np.inf)
        limited = np.clip(steps, -(2.0**20), 2.0**20).astype(np.float64)
        whole = np.trunc(limited + np.copysign(0.5, limited)).astype(np.int64)
        stored: Ints = whole + quant_of(out).zero_point
        return stored


def exp_points(x_type: TensorType, out: TensorType) -> Table:
    """Returns the interpolation table for 16-bit integers."""
    x, y = quant_of(x_type), quant_of(out)
    return points(np.exp, x.scale, x.zero_point, y.scale, y.zero_point)


def absolute(magnitude: Ints, x_type: TensorType, out: TensorType) -> Ints:
    """Returns the magnitude of x at the output's scale, rescaled only if that differs from the input's."""
    if quant_of(x_type).scale != quant_of(out).scale:
        magnitude = multiply_by_quantized_multiplier(magnitude, *abs_multiplier(x_type, out))
    stored: Ints = magnitude + quant_of(out).zero_point
    return stored


def abs_multiplier(x_type: TensorType, out: TensorType) -> tuple[int, int]:
    return quantize_multiplier(float(np.float32(quant_of(x_type).scale) / np.float32(quant_of(out).scale)))


def rsqrt_multiplier(x_type: TensorType, out: TensorType) -> tuple[int, int]:
    root = float(np.sqrt(np.float32(quant_of(x_type).scale)))
    return quantize_multiplier(1.0 / (root * quant_of(out).scale))


def _inverse_roots(x: Ints, x_type: TensorType, out: TensorType) -> Ints:
    """Returns inverse square roots; an input of 0 or less gives the largest integer."""
    mult, shift = inverse_root_multipliers(np.maximum(x, 1))
    roots = multiply_by_quantized_multiplier(np.ones_like(x), mult, shift + _RSQRT_SHIFT)
    out_mult, out_shift = rsqrt_multiplier(x_type, out)
    results = multiply_by_quantized_multiplier(roots, out_mult, out_shift - _RSQRT_SHIFT)
    return np.where(x <= 0, out.dtype.limits[1], results + quant_of(out).zero_point)
