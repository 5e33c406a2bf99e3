"""Scale and offset per channel between quantized values become a 1x1 depthwise convolution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aot.frontend.onnx.integers.match import IntegerRewrite, Layer
from aot.ir.graph import Node
from aot.ir.types import DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, BinaryOp, Mul, Sub
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.ops.rounding import rounding_of

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
