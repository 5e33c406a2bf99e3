"""Binary arithmetic: sums, differences, products and the like of two tensors, with broadcasting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import Activation, clamp_integers, clamp_reals, plain_clamp
from aot.ops.binary_rescale import (
    LEFT_SHIFT,
    add_parameters,
    div_multiplier,
    mul_multiplier,
    prelu_multipliers,
    quotients,
    rescaled,
    square_parameters,
)
from aot.ops.elementwise import SHAPES_FIT
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import Ints, multiply_by_quantized_multiplier, quant_of
from aot.ops.rounding import RequantRounding

Floats = npt.NDArray[np.float32]
T = TypeVar("T")
Pair = tuple[T, T]


_MAX_PRODUCT_RESCALE = 2.0**13  # a product of two 9-bit numbers, shifted left, must fit in 32 bits
_ELEMENTS = (DType.I8, DType.I16, DType.I32, DType.I64, DType.F32)


def _types(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    first, second = required(inputs[0]), required(inputs[1])
    return None if first.dtype is second.dtype else f"{first.dtype.value} and {second.dtype.value}"


def _quantised(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    tensors = (required(inputs[0]), required(inputs[1]), *outputs)
    if tensors[0].dtype is DType.F32 or all(t.quant is None for t in tensors):
        return None
    if tensors[0].dtype not in LEFT_SHIFT:
        return f"{tensors[0].dtype.value} has a scale"
    if any(t.quant is None or t.quant.is_per_channel for t in tensors):
        return "not every tensor has one"
    if tensors[0].dtype is DType.I16 and any(quant_of(t).zero_point for t in tensors):
        return "a zero point of i16 is not 0"
    return None


def _sum_scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x1, x2, (y,) = required(inputs[0]), required(inputs[1]), outputs
    if x1.dtype is DType.F32 or x1.quant is None or x2.quant is None or y.quant is None:
        return None
    ratio = max(x1.quant.scale, x2.quant.scale) / y.quant.scale
    return None if 2 * ratio < 1 << LEFT_SHIFT[x1.dtype] else f"it is {ratio:.3g} times as large"


def _branch_scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, (y,) = required(inputs[0]), outputs
    if x.quant is None or y.quant is None or x.quant.scale / y.quant.scale < _MAX_PRODUCT_RESCALE:
        return None
    return f"it is {x.quant.scale / y.quant.scale:.3g} times as large"


def _product_scales(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x1, x2, (y,) = required(inputs[0]), required(inputs[1]), outputs
    if x1.quant is None or x2.quant is None or y.quant is None:
        return None
    factor = x1.quant.scale * x2.quant.scale / y.quant.scale
    return None if factor < _MAX_PRODUCT_RESCALE else f"it is {factor:.3g}"


_SHARED = (
    limits.input_count(2, 2),
    limits.same_dtype_in(*_ELEMENTS),
    Constraint("both inputs must have the same element type", _types),
    Constraint(
        "if one of inputs and output is quantized, all must be, with one scale and one zero point, "
        "which is 0 for i16, and they must not be i32 or i64",
        _quantised,
    ),
)
_PRODUCT_SCALES_FIT = Constraint(
    "the product of the input scales must be below 2**13 times the output scale", _product_scales
)
_SUM_SCALES_FIT = Constraint(
    "the larger input scale must be less than 2**19 times the output scale (i16: 2**14 times)", _sum_scales
)


@dataclass(frozen=True, slots=True)
class BinaryOp(Op):
    """Inputs: x1, x2; their quantizations may differ. Integers without a quantization wrap around."""

    elementwise: ClassVar[tuple[int, ...]] = (0, 1)
    activation: Activation = Activation.NONE

    @abstractmethod
    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        """Computes the op in floats."""

    @abstractmethod
    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        """Computes the op in quantized integers, before adding the zero point and clamping."""

    @abstractmethod
    def on_plain(self, x1: Ints, x2: Ints) -> Ints:
        """Computes the op for integers without a scale; overflow wraps around."""

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x1, x2 = required(inputs[0]), required(inputs[1])
        return ((x1.dtype.value, np.broadcast_shapes(x1.shape, x2.shape)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        (out_type,) = outputs
        x1, x2 = required(arrays[0]), required(arrays[1])
        if out_type.dtype is DType.F32:
            return (
                clamp_reals(self.on_reals(x1.astype(np.float32), x2.astype(np.float32)), self.activation),
            )
        types = required(inputs[0]), required(inputs[1])
        if out_type.quant is None:
            with np.errstate(over="ignore"):
                wrapped = self.on_plain(x1.astype(np.int64), x2.astype(np.int64)).astype(out_type.dtype.numpy)
            return (np.clip(wrapped, *plain_clamp(self.activation, out_type)).astype(out_type.dtype.numpy),)
        results = self.on_integers((x1, x2), types, out_type)
        return (clamp_integers(results + quant_of(out_type).zero_point, self.activation, out_type),)


@dataclass(frozen=True, slots=True)
class Add(BinaryOp):
    """x1 + x2."""

    name: ClassVar[str] = "add"
    constraints: ClassVar[tuple[Constraint, ...]] = (*_SHARED, _SUM_SCALES_FIT, SHAPES_FIT)

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return x1 + x2

    def on_plain(self, x1: Ints, x2: Ints) -> Ints:
        return x1 + x2

    rounding: RequantRounding = RequantRounding.DOUBLE  # of the sum

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        p, (x1, x2) = add_parameters(*types, out), arrays
        sums = rescaled(x1, types[0], p.first, p.left_shift) + rescaled(x2, types[1], p.second, p.left_shift)
        return multiply_by_quantized_multiplier(sums, *p.out, self.rounding)


@dataclass(frozen=True, slots=True)
class Sub(BinaryOp):
    """x1 - x2."""

    name: ClassVar[str] = "sub"
    constraints: ClassVar[tuple[Constraint, ...]] = (*_SHARED, _SUM_SCALES_FIT, SHAPES_FIT)

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return x1 - x2

    def on_plain(self, x1: Ints, x2: Ints) -> Ints:
        return x1 - x2

    rounding: RequantRounding = RequantRounding.DOUBLE  # of the difference

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        p, (x1, x2) = add_parameters(*types, out), arrays
        differences = rescaled(x1, types[0], p.first, p.left_shift) - rescaled(
            x2, types[1], p.second, p.left_shift
        )
        return multiply_by_quantized_multiplier(differences, *p.out, self.rounding)


@dataclass(frozen=True, slots=True)
class Mul(BinaryOp):
    """x1 * x2, element by element."""

    name: ClassVar[str] = "mul"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_SHARED,
        _PRODUCT_SCALES_FIT,
        SHAPES_FIT,
    )
    scales_in_single: bool = False  # computes the product of the scales in single precision
    rounding: RequantRounding = RequantRounding.DOUBLE  # of integers

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return x1 * x2

    def on_plain(self, x1: Ints, x2: Ints) -> Ints:
        return x1 * x2

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        first, second = (
            x.astype(np.int64) - quant_of(t).zero_point for x, t in zip(arrays, types, strict=True)
        )
        multiplier = mul_multiplier(*types, out, self.scales_in_single)
        return multiply_by_quantized_multiplier(first * second, *multiplier, self.rounding)


@dataclass(frozen=True, slots=True)
class Prelu(BinaryOp):
    """Returns x1 if it is not negative, else x1 * x2."""

    name: ClassVar[str] = "prelu"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_SHARED,
        Constraint("the scale of the first input must be below 2**13 times the output scale", _branch_scales),
        _PRODUCT_SCALES_FIT,
        SHAPES_FIT,
    )
    scales_in_single: bool = False  # computes products and quotients of scales in single precision

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return np.where(x1 >= 0, x1, x1 * x2)

    def on_plain(self, x1: Ints, x2: Ints) -> Ints:
        return np.where(x1 >= 0, x1, x1 * x2)

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        first, second = (
            x.astype(np.int64) - quant_of(t).zero_point for x, t in zip(arrays, types, strict=True)
        )
        positive, negative = prelu_multipliers(*types, out, self.scales_in_single)
        return np.where(
            first >= 0,
            multiply_by_quantized_multiplier(first, *positive),
            multiply_by_quantized_multiplier(first * second, *negative),
        )


def _div_types(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    return "it is i16" if x.dtype is DType.I16 and x.quant is not None else None


@dataclass(frozen=True, slots=True)
class Div(BinaryOp):
    """x1 / x2. Integers without a scale are truncated towards 0; division by 0 gives 0."""

    name: ClassVar[str] = "div"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        *_SHARED,
        Constraint("a quantized quotient must be i8", _div_types),
        SHAPES_FIT,
    )

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return x1 / x2

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        whole = np.broadcast_shapes(*(a.shape for a in arrays))
        first, second = (
            np.broadcast_to(x.astype(np.int64) - quant_of(t).zero_point, whole)
            for x, t in zip(arrays, types, strict=True)
        )
        return quotients(first, second, div_multiplier(*types, out))

    def on_plain(self, x1: Ints, x2: Ints) -> Ints:
        divisor = np.where((x2 == 0) | (x2 == -1), 1, x2)
        floored = x1 // divisor
        truncated = floored + ((x1 % divisor != 0) & ((x1 < 0) != (x2 < 0)))
        return np.where(x2 == 0, 0, np.where(x2 == -1, -x1, truncated))


@dataclass(frozen=True, slots=True)
class SquaredDifference(BinaryOp):
    """Squares the difference of x1 and x2."""

    name: ClassVar[str] = "squared_difference"
    constraints: ClassVar[tuple[Constraint, ...]] = (*_SHARED, SHAPES_FIT)

    def on_reals(self, x1: Floats, x2: Floats) -> Floats:
        return (x1 - x2) * (x1 - x2)

    def on_integers(self, arrays: Pair[Array], types: Pair[TensorType], out: TensorType) -> Ints:
        p, (x1, x2) = square_parameters(*types, out), arrays
        differences = rescaled(x1, types[0], p.first, p.left_shift) - rescaled(
            x2, types[1], p.second, p.left_shift
        )
        return multiply_by_quantized_multiplier(differences * differences, *p.out)

    def on_plain(self, x1: Ints, x2: Ints) -> Ints:
        return (x1 - x2) * (x1 - x2)
