"""Convolutions, dense layers and matrix products over quantized operands: integers, requantized once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from aot.frontend.onnx.integers.match import IntegerRewrite, Layer
from aot.ir.graph import Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.requant import quant_of
from aot.ops.rounding import rounding_of, rounding_of_i16

# The weights' axis of output channels.
_CHANNEL_AXIS: Mapping[type[Op], int] = {Conv2d: 0, Dense: 0, DepthwiseConv2d: 2}


@dataclass(frozen=True)
class Form:
    """An op on integers and its inputs; its result is the quantization's."""

    op: Op
    inputs: tuple[str | None, ...]
    before: tuple[Node, ...] = ()  # that compute the inputs; the op is then only the quantization


def weighted(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> Form | None:
    """Returns the integer form with symmetric weights and a bias in units of input scale * weight scale."""
    node, out = layer.node, rewrite.graph.types[layer.quantise.outputs[0]]
    x = rewrite.integers(node.inputs[0])
    found = rewrite.stored.get(node.inputs[1] or "")
    kept = None if found is None else found.symmetric(_CHANNEL_AXIS[type(node.op)])
    if x is None or kept is None:
        return None
    w_type, w = kept
    weights = rewrite.constant(f"{node.inputs[1]}/stored", w_type, w)
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    b = None
    if bias is not None:
        stored_bias = _bias(rewrite, bias, rewrite.type(x), w_type)
        if stored_bias is None:
            return None
        b = rewrite.constant(f"{bias}/stored", *stored_bias)
    return Form(_integer_op(node.op, rewrite, rewrite.type(x), out, activation), (x, weights, b))


def _integer_op(
    op: Op, rewrite: IntegerRewrite, x: TensorType, out: TensorType, activation: Activation
) -> Op:
    assert isinstance(op, Conv2d | Dense | DepthwiseConv2d)
    is_wide = x.dtype is DType.I16
    rounding = (rounding_of_i16 if is_wide else rounding_of)(op.name, rewrite.mode)
    result = None if out.dtype is x.dtype else out.dtype
    return replace(op, activation=activation, rounding=rounding, result=result)


def _bias(
    rewrite: IntegerRewrite, name: str, x: TensorType, w: TensorType
) -> tuple[TensorType, Array] | None:
    """Returns the file's integers if they are in these units; otherwise the nearest to its floats."""
    if name not in rewrite.graph.constants:
        return None
    dtype = DType.I64 if x.dtype is DType.I16 else DType.I32
    steps = np.float64(quant_of(x).scale) * np.array(w.quant.scales if w.quant else ())
    found = rewrite.stored.get(name)
    if found is not None and np.allclose(found.scales, steps, rtol=1e-5, atol=0):
        whole = found.integers.astype(np.float64) - found.zero_points.astype(np.float64)
    else:
        whole = np.rint(rewrite.graph.constants[name].astype(np.float64) / steps)
    low, high = dtype.limits
    if not bool((np.abs(whole) < min(-low, high)).all()):
        return None
    return TensorType(dtype, whole.shape), whole.astype(dtype.numpy)


def product(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> Form | None:
    """Returns the integer form of a product of two computed matrices."""
    node = layer.node
    op = node.op_as(BatchMatmul)
    x, y = (rewrite.integers(name) for name in node.inputs)
    if x is None or y is None or activation is not Activation.NONE:
        return None
    return Form(replace(op, rounding=rounding_of(op.name, rewrite.mode)), (x, y))


def ones(channels: int, size: tuple[int, int]) -> tuple[TensorType, Array]:
    """Returns depthwise weights that average over a window."""
    quant = Quant((1.0 / (size[0] * size[1]),), (0,))
    return TensorType(DType.I8, (*size, channels), quant), np.ones((*size, channels), np.int8)
