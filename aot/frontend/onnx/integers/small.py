"""Sums, products, pools and softmax over quantized operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aot.frontend.onnx.integers.layers import Form, ones
from aot.frontend.onnx.integers.match import IntegerRewrite, Layer
from aot.ir.graph import Node
from aot.ir.types import DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.binary import BinaryOp, Mul
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.log_softmax import LogSoftmax
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.quantize import Quantize
from aot.ops.requant import quant_of
from aot.ops.rounding import ROUNDING, RequantRounding, rounding_of, scales_in_single
from aot.ops.softmax import Softmax
from aot.ops.spatial import NO_PADDING

_STEPS: Mapping[type[Op], tuple[float, int]] = {Softmax: (1 / 256, -128), LogSoftmax: (1 / 16, 127)}
_OF_16_BITS = Quant((1 / 65536,), (-32768,))  # of a softmax


def sum_or_product(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> Form | None:
    """Returns the integer form of a sum or product of two quantized values, one possibly constant."""
    node, op = layer.node, layer.node.op_as(BinaryOp)
    operands = tuple(rewrite.integers(name) for name in node.inputs)
    if None in operands or op.activation is not Activation.NONE:
        return None
    op = replace(op, activation=activation)
    if isinstance(op, Mul):
        rounding = ROUNDING[Mul.name]["i8"][rewrite.mode]
        if isinstance(rounding, RequantRounding):
            op = replace(op, rounding=rounding)
        op = replace(op, scales_in_single=scales_in_single(Mul.name, rewrite.mode))
    return Form(op, operands)


def average(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> Form | None:
    """Returns a pool if scales are equal; otherwise the mean of an image, or a sum with equal weights."""
    node, out = layer.node, rewrite.graph.types[layer.quantise.outputs[0]]
    assert isinstance(node.op, AveragePool2d)
    x = rewrite.integers(node.inputs[0])
    if x is None:
        return None
    tensor = rewrite.type(x)
    if tensor.quant == out.quant:
        op = replace(node.op, activation=activation, halves=_halves(rewrite.mode, node, tensor))
        return Form(op, (x,))
    if node.op.padding != NO_PADDING or tensor.dtype is not DType.I8:
        return None
    if node.op.size == tensor.shape[1:3] and activation is Activation.NONE:
        return Form(Mean(rounding=rounding_of(Mean.name, rewrite.mode)), (x,))
    return _weighted_average(rewrite, node.op, x, tensor, activation)


def _halves(mode: str, node: Node, x: TensorType) -> Halves:
    """Returns the rounding. ONNX Runtime rounds halves to even, in global pools minus the zero point."""
    if mode != "onnx":
        return Halves.AWAY
    is_global = node.origin.startswith("GlobalAveragePool ")
    return Halves.TO_ODD if is_global and quant_of(x).zero_point % 2 else Halves.TO_EVEN


def _weighted_average(
    rewrite: IntegerRewrite, op: AveragePool2d, x: str, tensor: TensorType, activation: Activation
) -> Form:
    weights = rewrite.constant(f"{x}/shares", *ones(tensor.shape[3], op.size))
    rounding = rounding_of(DepthwiseConv2d.name, rewrite.mode)
    sums = DepthwiseConv2d(stride=op.stride, activation=activation, rounding=rounding)
    return Form(sums, (x, weights, None))


def mean(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> Form | None:
    x, op = rewrite.integers(layer.node.inputs[0]), layer.node.op_as(Mean)
    op = replace(op, rounding=rounding_of(Mean.name, rewrite.mode))
    return None if x is None or activation is not Activation.NONE else Form(op, (x,))


def resized(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> Form | None:
    """Returns the integer form of a resize, if scales are equal."""
    x = rewrite.integers(layer.node.inputs[0])
    return None if x is None or activation is not Activation.NONE else Form(layer.node.op, (x,))


def shares(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> Form | None:
    """Returns the integer softmax or its logarithm; for other scales through finer ones."""
    x = rewrite.integers(layer.node.inputs[0])
    out = quant_of(rewrite.graph.types[layer.quantise.outputs[0]])
    if x is None or rewrite.type(x).dtype is not DType.I8 or activation is not Activation.NONE:
        return None
    if (out.scale, out.zero_point) == _STEPS[type(layer.node.op)]:
        return Form(layer.node.op, (x,))
    return _finer(rewrite, layer, x) if isinstance(layer.node.op, Softmax) else None


def _finer(rewrite: IntegerRewrite, layer: Layer, x: str) -> Form | None:
    """Quantizes in steps of 2**-16, then to the file's scale."""
    (result,) = layer.quantise.outputs
    out = rewrite.graph.types[result]
    fine = TensorType(DType.I16, out.shape, _OF_16_BITS)
    op = Softmax(result=DType.I16)
    if not rewrite.fits(op, (x,), fine):
        return None
    between = rewrite.value(f"{result}/fine", fine)
    made = replace(layer.node, op=op, inputs=(x,), outputs=(between,))
    return Form(Quantize(out.dtype), (between,), (made,))
