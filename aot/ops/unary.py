"""Functions of one element: clamps and activation curves, in floats and in 8-bit integers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers, clamp_reals, integer_clamp
from aot.ops.curves_16 import sigmoid_16, tanh_16
from aot.ops.fixed_point import logistic, tanh
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import (
    Ints,
    multiply_by_quantized_multiplier,
    quant_of,
    quantize_multiplier,
    rounding_divide_by_pot,
)

Floats = npt.NDArray[np.float32]
_INTEGER_BITS = 4  # of the argument of the fixed-point curves
_INT16_MIN, _INT16_MAX = -(2**15), 2**15 - 1


@dataclass(frozen=True, slots=True)
class Unary(Op):
    """Input: x of any shape."""

    elementwise: ClassVar[tuple[int, ...]] = (0,)

    @abstractmethod
    def on_reals(self, x: Floats) -> Floats:
        """Computes the function in floats."""

    @abstractmethod
    def on_integers(self, x: Ints, x_type: TensorType, out: TensorType) -> Ints:
        """Computes int8 results for x minus its zero point; the caller clamps them to int8."""

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type, (out,) = required(arrays[0]), required(inputs[0]), outputs
        if x_type.dtype is DType.F32:
            return (self.on_reals(x.astype(np.float32)).astype(np.float32),)
        centred = x.astype(np.int64) - quant_of(x_type).zero_point
        return (clamp_integers(self.on_integers(centred, x_type, out), Activation.NONE, out),)


_SHARED = (
    limits.input_count(1, 1),
    limits.same_dtype_in(DType.I8, DType.F32),
    limits.INT8_IS_QUANTISED,
)


_ON_16 = (
    limits.input_count(1, 1),
    limits.same_dtype_in(DType.I8, DType.I16, DType.F32),
    limits.INTEGERS_ARE_QUANTISED,
)


def rescale_below(limit: float, text: str) -> Constraint:
    def violation(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
        x, (y,) = required(inputs[0]), outputs
        if x.quant is None or y.quant is None or x.quant.scale / y.quant.scale < limit:
            return None
        return f"it is {x.quant.scale / y.quant.scale:.3g} times as large"

    return Constraint(f"the input scale must be less than {text} times the output scale", violation)


RESCALE_FITS = rescale_below(2.0**20, "2**20")  # 9 bits times this still fits in 32 bits


@dataclass(frozen=True, slots=True)
class Clamp(Unary):
    """An activation that is not fused: clamps x to its range, then converts to the output's scale."""

    name: ClassVar[str] = "clamp"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_ON_16,
        RESCALE_FITS,
    )
    activation: Activation = Activation.RELU

    def on_reals(self, x: Floats) -> Floats:
        return np.asarray(clamp_reals(x, self.activation), np.float32)

    def on_integers(self, x: Ints, x_type: TensorType, out: TensorType) -> Ints:
        results = (
            multiply_by_quantized_multiplier(x, *clamp_multiplier(x_type, out)) + quant_of(out).zero_point
        )
        return np.clip(results, *integer_clamp(self.activation, out))


def clamp_multiplier(x_type: TensorType, out: TensorType) -> tuple[int, int]:
    """Returns (mult, shift) from the input's scale to the output's; divides in single precision."""
    return quantize_multiplier(float(np.float32(quant_of(x_type).scale) / np.float32(quant_of(out).scale)))


def _wide_quant(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [t.quant for t in (required(inputs[0]), *outputs) if t.dtype is DType.I16]
    return None if all(q is not None and not q.is_per_channel for q in found) else "not every tensor has one"


def _alpha(op: LeakyRelu, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    return None if abs(op.alpha) < 2**10 else f"it is {op.alpha}"


@dataclass(frozen=True, slots=True)
class LeakyRelu(Unary):
    """Returns x if x is positive, else alpha * x."""

    name: ClassVar[str] = "leaky_relu"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(DType.I8, DType.I16, DType.F32),
        limits.INT8_IS_QUANTISED,
        Constraint("i16 inputs and outputs must be quantized with one scale", _wide_quant),
        Constraint("alpha must be between -1024 and 1024", _alpha),
        rescale_below(2.0**10, "2**10"),
    )
    alpha: float = 0.0
    scales_in_single: bool = False  # computes the quotient of the scales in single precision

    def on_reals(self, x: Floats) -> Floats:
        return np.where(x > 0, x, x * np.float32(self.alpha))

    def on_integers(self, x: Ints, x_type: TensorType, out: TensorType) -> Ints:
        positive, negative = self.multipliers(x_type, out)
        below = multiply_by_quantized_multiplier(x, *negative)
        results = np.where(
            x >= 0, multiply_by_quantized_multiplier(x, *positive), below if self.alpha >= 0 else -below
        )
        return results + quant_of(out).zero_point

    def multipliers(self, x_type: TensorType, out: TensorType) -> tuple[tuple[int, int], tuple[int, int]]:
        """Returns (mult, shift) for x above 0 and, without the sign of alpha, below."""
        real = np.float32 if self.scales_in_single else np.float64
        scale, step, alpha = real(quant_of(x_type).scale), real(quant_of(out).scale), real(abs(self.alpha))
        return quantize_multiplier(float(scale / step)), quantize_multiplier(float(scale * alpha / step))


def _curve_scale(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if x.quant is None or x.dtype is not DType.I8 or 2.0**-27 <= x.quant.scale < 2.0**3:
        return None
    return f"it is {x.quant.scale:.3g}"


_CURVE_SCALE = Constraint("the scale of an i8 input must be between 2**-27 and 8", _curve_scale)


def output_is(scale: float, zero_point: int, text: str, dtype: DType = DType.I8) -> Constraint:
    def violation(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
        quant = outputs[0].quant
        if quant is None or outputs[0].dtype is not dtype:
            return None
        if quant.zero_point == zero_point and math.isclose(quant.scale, scale, rel_tol=1e-3):
            return None
        return f"it has scale {quant.scale:.6g}, zero point {quant.zero_point}"

    rule = f"an {dtype.value} output must have scale {text} and zero point {zero_point}"
    return Constraint(rule, violation)


def _curve_of_16(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    if x.quant is None or x.dtype is not DType.I16:
        return None
    fits = x.quant.zero_point == 0 and 2.0**-28 <= x.quant.scale < 2.0
    return None if fits else f"it has scale {x.quant.scale:.3g}, zero point {x.quant.zero_point}"


_CURVES = (
    *_ON_16,
    _CURVE_SCALE,
    Constraint("an i16 input must have zero point 0 and a scale between 2**-28 and 2", _curve_of_16),
    output_is(2.0**-15, 0, "2**-15", DType.I16),
)


def argument_16(scale: float) -> tuple[int, int]:
    """Returns (multiplier, right shift) from i16 to three times the float value, with 12 fraction bits."""
    if scale == 2.0**-12:
        return 3, 0
    real, right = scale * 4096.0 * 3.0, 0
    while real <= 32767.0 / 2.0 and right <= 30:
        right, real = right + 1, real * 2.0
    return int(real), right


def _curve(x: Ints, of_fixed_point: Ints, radius: int) -> Ints:
    """Returns the fixed-point results, and the limits of int8 if x is out of the curve's range."""
    low, high = DType.I8.limits
    return np.where(x <= -radius, low, np.where(x >= radius, high, of_fixed_point))


def _argument(x: Ints, x_type: TensorType) -> tuple[Ints, int]:
    """Returns x as a fixed-point number, and the smallest |x| that is out of range."""
    mult, shift = quantize_multiplier(quant_of(x_type).scale * 2.0 ** (31 - _INTEGER_BITS))
    radius = math.floor((2**_INTEGER_BITS - 1) * 2.0 ** (31 - _INTEGER_BITS) / 2.0**shift)
    inside = np.clip(x, -radius, radius)
    return multiply_by_quantized_multiplier(inside, mult, shift), radius


@dataclass(frozen=True, slots=True)
class Logistic(Unary):
    """Returns 1 / (1 + exp(-x))."""

    name: ClassVar[str] = "logistic"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_CURVES,
        output_is(1 / 256, -128, "1/256"),
    )

    def on_reals(self, x: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(np.float32(1) / (np.float32(1) + np.exp(-x)), np.float32)

    def on_integers(self, x: Ints, x_type: TensorType, out: TensorType) -> Ints:
        if x_type.dtype is DType.I16:
            return sigmoid_16(x, *argument_16(quant_of(x_type).scale))
        raw, radius = _argument(x, x_type)
        return _curve(x, rounding_divide_by_pot(logistic(raw), 23) - 128, radius)


@dataclass(frozen=True, slots=True)
class Tanh(Unary):
    """Returns tanh(x)."""

    name: ClassVar[str] = "tanh"
    constraints: ClassVar[tuple[Constraint, ...]] = (*_CURVES, output_is(1 / 128, 0, "1/128"))

    def on_reals(self, x: Floats) -> Floats:
        return np.tanh(x)

    def on_integers(self, x: Ints, x_type: TensorType, out: TensorType) -> Ints:
        if x_type.dtype is DType.I16:
            return tanh_16(x, *argument_16(quant_of(x_type).scale))
        raw, radius = _argument(x, x_type)
        return _curve(x, rounding_divide_by_pot(tanh(raw), 24), radius)


@dataclass(frozen=True, slots=True)
class HardSwish(Unary):
    """Returns x * clamp(x + 3, 0, 6) / 6; int8 in 16-bit fixed point."""

    name: ClassVar[str] = "hard_swish"
    constraints: ClassVar[tuple[Constraint, ...]] = (*_SHARED, rescale_below(128.0, "128"))

    def on_reals(self, x: Floats) -> Floats:
        return np.asarray(x * np.clip(x + np.float32(3), 0, 6) / np.float32(6), np.float32)

    def on_integers(self, x: Ints, x_type: TensorType, out: TensorType) -> Ints:
        fine_scale = np.float32(1 / 128) * np.float32(quant_of(x_type).scale)
        out_mult, out_exponent = _int16_multiplier(float(fine_scale / np.float32(quant_of(out).scale)))
        gate_mult, gate_exponent = _int16_multiplier(float(fine_scale / (np.float32(3) / np.float32(32768))))
        fine = x << 7
        gate = fine
        if gate_exponent > 0:
            gate = _saturate_int16(gate << (gate_exponent - 1))
        gate = _high_mul_16(gate, gate_mult)
        if gate_exponent > 0:
            gate = _saturate_int16(gate << 1)
        if gate_exponent < 0:
            gate = rounding_divide_by_pot(gate, -gate_exponent)
        gate = (gate + (1 << 15)) >> 1
        product = gate * _high_mul_16(fine, out_mult)
        truncated = np.sign(product) * (np.abs(product) >> 15)
        return rounding_divide_by_pot(truncated, -out_exponent) + quant_of(out).zero_point


def _int16_multiplier(real: float) -> tuple[int, int]:
    mult, exponent = quantize_multiplier(real)
    return min((mult + (1 << 15)) >> 16, _INT16_MAX), exponent


def _high_mul_16(a: Ints, b: int) -> Ints:
    """Returns round(a * b / 2**15), half away from zero."""
    product = a * b
    magnitude: Ints = (np.abs(product) + (1 << 14)) >> 15
    return _saturate_int16(np.sign(product) * magnitude)


def _saturate_int16(x: Ints) -> Ints:
    return np.clip(x, _INT16_MIN, _INT16_MAX)
