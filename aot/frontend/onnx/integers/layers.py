"""Layers over quantized operands: integers, requantized once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aot.frontend.onnx.integers.match import IntegerRewrite, Layer
from aot.ir.graph import Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add, BinaryOp, Mul, Sub
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.log_softmax import LogSoftmax
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.quantize import Quantize
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.ops.rounding import ROUNDING, RequantRounding, rounding_of, rounding_of_i16, scales_in_single
from aot.ops.softmax import Softmax
from aot.ops.spatial import NO_PADDING

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


# Scale and offset per channel between quantized values become a 1x1 depthwise convolution.


FloatArray = npt.NDArray[np.float64]
_WEIGHTS = np.arange(127, 0, -1)


@dataclass(frozen=True)
class _Channels:
    """The function factor * value + offset, for each index of the last dimension."""

    value: str
    factors: FloatArray
    summands: FloatArray


def affine(rewrite: IntegerRewrite, layer: Layer, activation: Activation) -> list[Node] | None:
    """Returns the convolution, which rounds once, and its views; None if the layer is anything else."""
    found = _channels(rewrite, layer.node)
    x = None if found is None else rewrite.integers(found.value)
    if found is None or x is None or rewrite.type(x).dtype is not DType.I8:
        return None
    out = rewrite.graph.types[layer.quantise.outputs[0]]
    constants = _constants(rewrite, found, rewrite.type(x), out, layer.node.name)
    return None if constants is None else _nodes(rewrite, layer, activation, x, constants)


def _channels(rewrite: IntegerRewrite, node: Node) -> _Channels | None:
    """Returns the function of a chain of sums and products with constants, or None."""
    shape = rewrite.graph.types[node.outputs[0]].shape
    found = _Channels(node.outputs[0], np.ones(shape[-1:]), np.zeros(shape[-1:]))
    while (maker := rewrite.graph.producers.get(found.value)) is not None and isinstance(maker.op, BinaryOp):
        further = _before(rewrite, maker, found, shape)
        if further is None:
            break
        found = further
    return found if found.value != node.outputs[0] else None


def _before(
    rewrite: IntegerRewrite, node: Node, after: _Channels, shape: tuple[int, ...]
) -> _Channels | None:
    graph = rewrite.graph
    constants = [v for v in node.reads if v in graph.constants]
    values = [v for v in node.reads if v not in graph.constants]
    if len(constants) != 1 or not shape or graph.types[values[0]].shape != shape:
        return None
    array = graph.constants[constants[0]].astype(np.float64)
    if array.size not in (1, shape[-1]) or (array.size > 1 and array.shape[-1] != shape[-1]):
        return None
    numbers = np.broadcast_to(array.reshape(-1), shape[-1:])
    if isinstance(node.op, Mul):
        return _Channels(values[0], after.factors * numbers, after.summands)
    if isinstance(node.op, Add):
        return _Channels(values[0], after.factors, after.summands + after.factors * numbers)
    if isinstance(node.op, Sub) and node.reads[1] in graph.constants:
        return _Channels(values[0], after.factors, after.summands - after.factors * numbers)
    return None


def _constants(
    rewrite: IntegerRewrite, found: _Channels, x: TensorType, out: TensorType, label: str
) -> tuple[str, str] | None:
    """Returns weights with a scale per channel, exact for the factors, and a bias in their steps.

    The bias is rounded to whole steps, and a step depends on the weight. Of all weights, the one is taken
    whose bias fits best: with a fixed one, up to 1 % of the outputs would differ from the float function's.
    """
    factors = np.abs(found.factors)
    factors = np.where(factors > 0, factors, quant_of(out).scale / quant_of(x).scale)  # for the bias alone
    offsets = _offsets(found, factors, x, out)
    biases = np.rint(offsets[:, None] * _WEIGHTS)
    best = np.abs(offsets[:, None] - biases / _WEIGHTS).argmin(axis=1)
    bias, weight = biases[np.arange(len(best)), best], _WEIGHTS[best]
    if not bool((np.abs(bias) < 2**30).all()):
        return None
    weights = (np.sign(found.factors) * weight).astype(np.int8).reshape(1, 1, -1)
    quant = Quant(tuple(float(s) for s in factors / weight), (0,) * len(factors), 2)
    w = rewrite.constant(f"{label}/factors", TensorType(DType.I8, weights.shape, quant), weights)
    b = rewrite.constant(f"{label}/summands", TensorType(DType.I32, bias.shape), bias.astype(np.int32))
    return w, b


def _offsets(found: _Channels, factors: FloatArray, x: TensorType, out: TensorType) -> FloatArray:
    """Returns offsets in steps of x: the middle of those that round every input as the exact one does."""
    quant, result = quant_of(x), quant_of(out)
    exact = found.summands / (quant.scale * factors)
    gain = quant.scale * factors / result.scale
    low, high = x.dtype.limits
    inputs = np.sign(found.factors)[:, None] * (np.arange(low, high + 1) - quant.zero_point)
    low, high = (limit - result.zero_point for limit in out.dtype.limits)
    rounded = np.rint((inputs + exact[:, None]) * gain[:, None])
    least = np.where(rounded <= low, -np.inf, (rounded - 0.5) / gain[:, None] - inputs).max(axis=1)
    greatest = np.where(rounded >= high, np.inf, (rounded + 0.5) / gain[:, None] - inputs).min(axis=1)
    least, greatest = np.maximum(least, exact - 0.5 / gain), np.minimum(greatest, exact + 0.5 / gain)
    middle: FloatArray = (least + greatest) / 2
    return middle


def _nodes(
    rewrite: IntegerRewrite, layer: Layer, activation: Activation, x: str, constants: tuple[str, str]
) -> list[Node] | None:
    """Returns the nodes, over an image of one row if the value is not an image."""
    (result,), node, x_type = layer.quantise.outputs, layer.node, rewrite.type(x)
    out = rewrite.graph.types[result]
    is_image = x_type.rank == 4 and x_type.shape[0] == 1
    image = x_type.shape if is_image else (1, 1, x_type.elements // x_type.shape[-1], x_type.shape[-1])
    op = DepthwiseConv2d(activation=activation, rounding=rounding_of(DepthwiseConv2d.name, rewrite.mode))
    if is_image:
        fits = rewrite.fits(op, (x, *constants), out)
        return [replace(node, op=op, inputs=(x, *constants), outputs=(result,))] if fits else None
    seen = rewrite.value(f"{x}/row", replace(x_type, shape=image))
    made = rewrite.value(f"{result}/row", replace(out, shape=image))
    if not rewrite.fits(op, (seen, *constants), rewrite.type(made)):
        return None
    return [
        Node(f"{node.name}/row", Reshape(image), (x,), (seen,), node.origin),
        replace(node, op=op, inputs=(seen, *constants), outputs=(made,)),
        Node(f"{node.name}/view", Reshape(out.shape), (made,), (result,), node.origin),
    ]


# Sums, products, pools and softmax over quantized operands.


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
