"""Convolutions of float images with int8 weights, like LiteRT's hybrid kernels.

An image is quantized to 8 bits by its range. Single-precision floats hold these integers, the weights and,
below 2^24, the sums of their products exactly, so a float convolution computes them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.operation import TfliteOperator
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.own_steps import DynamicQuantize, MeasuredRange, RangeFact
from aot.ops.reduce import Reduce, Reduction
from aot.ops.rounding import quantises_on_the_way

_ONE = TensorType(DType.F32, (1, 1, 1, 1))
_REACH = (-127.0, 127.0)  # largest number of steps from 0, both signs


def is_hybrid(node: TfliteOperator, op_name: str, axis: int) -> bool:
    """Returns whether LiteRT quantizes the image; weights have one scale or one per index of the axis.

    Batches and grouped convolutions stay float.
    """
    x = node.tensor(node.operand(0, "the image"))
    name = node.constant(1, "weights")
    if x.dtype is not DType.F32 or x.shape[:1] != (1,) or not node.are_symmetric_int8(name, axis):
        return False
    is_grouped = axis == 0 and node.tensor(name).shape[-1:] != x.shape[-1:]
    return not is_grouped and quantises_on_the_way(op_name, node.draft.rounding)


def import_hybrid(
    node: TfliteOperator,
    op: Conv2d | DepthwiseConv2d,
    x: str,
    weights: str,
    bias: str | None,
) -> None:
    """Adds the operator's result; the weights are int8, in the form that the op needs."""
    output, stored = node.the_output, node.tensor(weights)
    assert stored.quant is not None
    is_depthwise, has_many = isinstance(op, DepthwiseConv2d), len(stored.quant.scales) > 1
    steps, step = _quantized(node, x, is_depthwise or has_many)
    whole = TensorType(DType.F32, stored.shape)
    w = node.add_value(f"{weights}/whole", whole, node.array(weights).astype(np.float32))
    image = node.tensor(output)
    sums = _made(node, replace(op, activation=Activation.NONE), (steps, w, None), image, "sums")
    scales = _constant(node, f"{weights}/scales", np.array(stored.quant.scales, np.float32))
    # In LiteRT's order of products: with many scales, a convolution multiplies by these first.
    if has_many and not is_depthwise:
        factors = (_made(node, Mul(), (sums, scales), image, "scaled"), step)
    else:
        factors = (sums, _made(node, Mul(), (scales, step), node.tensor(scales), "factor"))
    if bias is None:
        node.add_node(Mul(op.activation), factors, output)
        return
    products = _made(node, Mul(), factors, image, "products")
    b = _constant(node, f"{bias}/pixel", node.array(bias).astype(np.float32))
    node.add_node(Add(op.activation), (products, b), output)


def _quantized(node: TfliteOperator, x: str, asymmetric: bool) -> tuple[str, str]:
    """Returns the image in 8-bit steps, as floats, and the step size."""
    axes = (1, 2, 3)
    ends = tuple(
        _made(node, Reduce(by, axes), (x,), _ONE, by.value) for by in (Reduction.MINIMUM, Reduction.MAXIMUM)
    )

    def fact(by: RangeFact) -> str:
        return _made(node, MeasuredRange(by), ends, _ONE, by.value)

    if asymmetric:
        step, inverse = fact(RangeFact.STEP_OF_RANGE), fact(RangeFact.INVERSE_OF_RANGE)
        low, high = fact(RangeFact.LEAST_STEPS), fact(RangeFact.MOST_STEPS)
    else:
        step, inverse = fact(RangeFact.STEP_OF_REACH), fact(RangeFact.INVERSE_OF_REACH)
        low, high = (_constant(node, "limit", np.array([end], np.float32)) for end in _REACH)
    return _made(node, DynamicQuantize(), (x, inverse, low, high), node.tensor(x), "steps"), step


def _made(
    node: TfliteOperator,
    op: Op,
    inputs: tuple[str | None, ...],
    result: TensorType,
    what: str,
) -> str:
    value = node.add_value(f"{node.the_output}/{what}", result)
    node.add_node(op, inputs, value)
    return value


def _constant(node: TfliteOperator, name: str, values: np.ndarray) -> str:
    """Adds constants for each channel of an image, or one for all."""
    shape = (1, 1, 1, values.size)
    return node.add_value(name, TensorType(DType.F32, shape), values.reshape(shape))
