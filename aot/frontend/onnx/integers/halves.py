"""Halves to even, as ONNX Runtime rounds: exact halves are common if scales are powers of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from aot.frontend.onnx.integers.match import IntegerRewrite, Layer
from aot.ir.types import DType, TensorType
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.batch_matmul import BatchMatmul, product_requant
from aot.ops.binary import Add, Mul, Sub
from aot.ops.binary_rescale import add_parameters, mul_multiplier
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.mean import Mean, mean_parameters
from aot.ops.op import Op
from aot.ops.requant import Multipliers, conv_requant, quant_of
from aot.ops.rounding import POWERS, RequantRounding, rounding_of

_Types = tuple[TensorType, ...]
_Multiplier = tuple[int, int]
_ADDING_ZERO_POINTS_FIRST = (Add, AveragePool2d, Mul)  # ONNX Runtime's kernels of these


def with_even_halves(
    rewrite: IntegerRewrite, layer: Layer, op: Op, inputs: tuple[str | None, ...], out: TensorType
) -> Op:
    """Returns the op with the rounding of powers of two, if all its multipliers are; otherwise the op."""
    multipliers_of = _MULTIPLIERS.get(type(op))
    types = tuple(rewrite.type(name) for name in inputs if name is not None)
    if multipliers_of is None or any(t.dtype is not DType.I8 for t in (*types[:2], out)):
        return op
    rounding = rounding_of(op.name, rewrite.mode, POWERS)
    if rounding is not RequantRounding.EVEN or not _make_halves(multipliers_of(op, types, out)):
        return op
    if quant_of(out).zero_point % 2 and _adds_zero_point_first(layer, out):
        rounding = RequantRounding.ODD
    assert isinstance(op, Add | BatchMatmul | Conv2d | Dense | DepthwiseConv2d | Mean | Mul | Sub)
    return replace(op, rounding=rounding)


def _make_halves(multipliers: list[_Multiplier]) -> bool:
    """Returns whether all are powers of two, and one is at most 1/2."""
    return all(mult == 1 << 30 for mult, _ in multipliers) and any(shift <= 0 for _, shift in multipliers)


def _adds_zero_point_first(layer: Layer, out: TensorType) -> bool:
    """Returns whether the runtime rounds the sum of result and zero point.

    It computes an operator in floats if a clamp remains between the operator and the quantization.
    """
    is_global = layer.node.origin.startswith("GlobalAveragePool ")
    is_clamped = layer.stored_limits(out) != out.dtype.limits
    return isinstance(layer.node.op, _ADDING_ZERO_POINTS_FIRST) and not is_global and not is_clamped


def _of_channels(multipliers: Multipliers) -> list[_Multiplier]:
    return [(int(mult), int(shift)) for mult, shift in zip(*multipliers, strict=True)]


def _weighted(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    return _of_channels(conv_requant(types[0], types[1], out, out.shape[-1]))


def _product(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    return _of_channels(product_requant(types[0], types[1], out))


def _sum(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    """Returns the multipliers of both operands alone; (0, 0) for one that is rounded before the sum."""
    p = add_parameters(types[0], types[1], out)
    return [
        (max(mult, p.out[0]), shift + p.left_shift - 1 + p.out[1])
        if p.left_shift - 1 + shift >= 0
        else (0, 0)
        for mult, shift in (p.first, p.second)
    ]


def _factors(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    return [mul_multiplier(types[0], types[1], out)]


def _mean(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    assert isinstance(op, Mean)
    p = mean_parameters(types[0], out, op.count(types[0]), RequantRounding.EVEN)
    return [(p.mult, p.shift)]


_MULTIPLIERS: Mapping[type[Op], Callable[[Op, _Types, TensorType], list[_Multiplier]]] = {
    Add: _sum,
    BatchMatmul: _product,
    Conv2d: _weighted,
    Dense: _weighted,
    DepthwiseConv2d: _weighted,
    Mean: _mean,
    Mul: _factors,
    Sub: _sum,
}
