"""Conversion between floats and integers, and between quantizations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.activation import FloatArray
from aot.ops.op import Arrays, Constraint, Op, Types, required
from aot.ops.requant import multiply_by_quantized_multiplier, quant_of, quantize_multiplier

_INTEGERS = (DType.I8, DType.U8, DType.I16)
_ALL = (*_INTEGERS, DType.I32)
_MAX_RESCALE = 2.0**14  # 17 bits times this still fits in 32 bits


def _quantised(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    for name, tensor in (("input", required(inputs[0])), ("output", outputs[0])):
        if tensor.dtype in _ALL and (tensor.quant is None or tensor.quant.is_per_channel):
            return f"the {name} has {'no' if tensor.quant is None else len(tensor.quant.scales)} scales"
    return None


def _dtypes(sources: tuple[DType, ...], results: tuple[DType, ...]) -> Constraint:
    def violation(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
        x, y = required(inputs[0]).dtype, outputs[0].dtype
        return None if x in sources and y in results else f"{x.value} would become {y.value}"

    return Constraint(f"elements must be {_listed(sources)} and become {_listed(results)}", violation)


def _listed(dtypes: tuple[DType, ...]) -> str:
    return " or ".join(d.value for d in dtypes)


def _rescale(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, (y,) = required(inputs[0]), outputs
    if x.quant is None or y.quant is None:
        return None
    if x.quant.scale / y.quant.scale < (1 if x.dtype is DType.I32 else _MAX_RESCALE):
        return None
    return f"it is {x.quant.scale / y.quant.scale:.3g} times as large"


_IS_QUANTISED = Constraint("integer tensors must have one scale and one zero point", _quantised)


@dataclass(frozen=True, slots=True)
class _Conversion(Op):
    """Input: x of any shape."""

    elementwise: ClassVar[tuple[int, ...]] = (0,)


@dataclass(frozen=True, slots=True)
class Quantize(_Conversion):
    """Quantizes x, float or quantized, to the output's scale: rounds to nearest and clamps."""

    name: ClassVar[str] = "quantize"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        _dtypes((DType.F32, *_ALL), _ALL),
        _IS_QUANTISED,
        Constraint(
            "the input scale must be less than 2**14 times the output scale, of i32 less than it", _rescale
        ),
    )
    to: DType = DType.I8
    halves_to_even: bool = False  # of floats, like ONNX; TFLite rounds halves away from zero

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((self.to.value, required(inputs[0]).shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, x_type, (out,) = required(arrays[0]), required(inputs[0]), outputs
        quant, (low, high) = quant_of(out), out.dtype.limits
        if x_type.dtype is DType.F32:
            steps = x.astype(np.float32) / np.float32(quant.scale)
            near = np.clip(steps.astype(np.float64), low - 256.0, high + 256.0)
            results = (np.rint(near) if self.halves_to_even else _halves_away(near)).astype(np.int64)
        else:
            multiplier = quantize_multiplier(quant_of(x_type).scale / quant.scale)
            centred = x.astype(np.int64) - quant_of(x_type).zero_point
            results = multiply_by_quantized_multiplier(centred, *multiplier)
        return (np.clip(results + quant.zero_point, low, high).astype(out.dtype.numpy),)


def _halves_away(steps: FloatArray) -> FloatArray:
    whole: FloatArray = np.trunc(steps)
    return whole + (steps - whole >= 0.5) - (steps - whole <= -0.5)


@dataclass(frozen=True, slots=True)
class Dequantize(_Conversion):
    """Returns the float values of stored integers."""

    name: ClassVar[str] = "dequantize"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        _dtypes(_INTEGERS, (DType.F32,)),
        _IS_QUANTISED,
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.F32.value, required(inputs[0]).shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        quant = quant_of(required(inputs[0]))
        centred = required(arrays[0]).astype(np.int64) - quant.zero_point
        return (centred.astype(np.float32) * np.float32(quant.scale),)
