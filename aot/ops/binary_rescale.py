"""Integer arithmetic on two values with different scales, bit for bit: add, multiply, divide, compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.fixed_point import reciprocal
from aot.ops.requant import Ints, multiply_by_quantized_multiplier, quant_of, quantize_multiplier

Multiplier = tuple[int, int]  # (mult, shift)
# Left shift of operands before they are added: as far as the sum still fits in 32 bits.
LEFT_SHIFT = {DType.I8: 20, DType.I16: 15}
DIFFERENCE_SHIFT = {DType.I8: 7, DType.I16: 0}  # before differences are squared
COMPARE_SHIFT = 8  # before operands are compared


@dataclass(frozen=True, slots=True)
class AddParameters:
    """Multipliers that bring two values to one scale before they are added: (mult, shift), shift <= 0.

        sum = m1((x1 - zero_point_1) << left_shift) + m2((x2 - zero_point_2) << left_shift)
        y = m_out(sum) + zero_point_out

    Each m rounds twice (multiply_by_quantized_multiplier).
    """

    left_shift: int
    first: Multiplier
    second: Multiplier
    out: Multiplier


def add_parameters(x1_type: TensorType, x2_type: TensorType, out_type: TensorType) -> AddParameters:
    """Returns the multipliers of an addition. Both inputs are first brought to twice the larger scale."""
    twice_larger, first, second = _to_one_scale(x1_type, x2_type)
    shift = LEFT_SHIFT[x1_type.dtype]
    out = quantize_multiplier(twice_larger / ((1 << shift) * quant_of(out_type).scale))
    return AddParameters(shift, first, second, out)


def square_parameters(x1_type: TensorType, x2_type: TensorType, out_type: TensorType) -> AddParameters:
    """Returns the multipliers of a squared difference; the output multiplier applies to the square."""
    twice_larger, first, second = _to_one_scale(x1_type, x2_type)
    shift = DIFFERENCE_SHIFT[x1_type.dtype]
    steps = (1 << shift * 2) * quant_of(out_type).scale
    return AddParameters(shift, first, second, quantize_multiplier(twice_larger * twice_larger / steps))


def compare_parameters(x1_type: TensorType, x2_type: TensorType) -> AddParameters:
    """Returns multipliers that bring both operands to one scale; the output multiplier is unused."""
    first, second = (quantize_multiplier(quant_of(t).scale) for t in (x1_type, x2_type))
    return AddParameters(COMPARE_SHIFT, first, second, (0, 0))


def _to_one_scale(x1_type: TensorType, x2_type: TensorType) -> tuple[float, Multiplier, Multiplier]:
    first, second = quant_of(x1_type).scale, quant_of(x2_type).scale
    twice_larger = 2.0 * max(first, second)
    return twice_larger, quantize_multiplier(first / twice_larger), quantize_multiplier(second / twice_larger)


def mul_multiplier(
    x1_type: TensorType, x2_type: TensorType, out_type: TensorType, scales_in_single: bool = False
) -> Multiplier:
    """Returns (mult, shift) of a product."""
    if scales_in_single:
        first, second, out = (np.float32(quant_of(t).scale) for t in (x1_type, x2_type, out_type))
        return quantize_multiplier(float(first * second / out))
    return quantize_multiplier(quant_of(x1_type).scale * quant_of(x2_type).scale / quant_of(out_type).scale)


def prelu_multipliers(
    x1_type: TensorType, x2_type: TensorType, out_type: TensorType, scales_in_single: bool
) -> tuple[Multiplier, Multiplier]:
    """Returns (mult, shift) of x1 alone, and of the product."""
    real = np.float32 if scales_in_single else np.float64
    alone = float(real(quant_of(x1_type).scale) / real(quant_of(out_type).scale))
    product = mul_multiplier(x1_type, x2_type, out_type, scales_in_single)
    return quantize_multiplier(alone), product


def div_multiplier(x1_type: TensorType, x2_type: TensorType, out_type: TensorType) -> Multiplier:
    """Returns (mult, shift) of a quotient."""
    return quantize_multiplier(quant_of(x1_type).scale / (quant_of(x2_type).scale * quant_of(out_type).scale))


def rescaled(x: Array, x_type: TensorType, multiplier: Multiplier, left_shift: int) -> Ints:
    """Returns an operand at the common scale."""
    shifted = (x.astype(np.int64) - quant_of(x_type).zero_point) << left_shift
    return multiply_by_quantized_multiplier(shifted, *multiplier)


def quotients(first: Ints, second: Ints, multiplier: Multiplier) -> Ints:
    """Returns multiplier * first / second, for values minus their zero points; division by 0 gives 0."""
    magnitude = np.maximum(np.abs(second), 1)
    inverse, over_unit = reciprocal(magnitude, 31)
    numerator = np.where(second < 0, -first, first)
    headroom = _leading_sign_bits(numerator)
    # A left shift by the headroom fits in 32 bits; the last shift makes up for it.
    unscaled = ((numerator << headroom) * inverse + (1 << 30)) >> 31
    mult, shift = multiplier
    scaled = multiply_by_quantized_multiplier(unscaled, mult, shift - over_unit - headroom)
    return np.where(second == 0, 0, scaled)


def _leading_sign_bits(values: Ints) -> Ints:
    """Counts the redundant sign bits of 32-bit integers."""
    positive = np.where(values < 0, ~values, values)
    bits = [31 - int(v).bit_length() for v in positive.ravel()]
    return np.asarray(bits, np.int64).reshape(values.shape)
