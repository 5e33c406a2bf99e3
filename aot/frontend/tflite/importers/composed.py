"""FAKE_QUANT, L2_POOL_2D and LOCAL_RESPONSE_NORMALIZATION, composed of simpler operators."""

from __future__ import annotations

import numpy as np
import tflite

from aot.frontend.tflite.importers.rearranging import by_images
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add, Mul, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.conv2d import Conv2d
from aot.ops.unary import Clamp
from aot.ops.unary_math import MathFunction, UnaryMath

_MOST_BITS = 16


def _reals(node: TfliteOperator) -> str:
    """Returns the input, which must be float: no interpreter has integers here."""
    x = node.operand(0, "the data")
    if node.tensor(x).dtype is not DType.F32:
        raise node.fail(
            f"it is supported for f32 only, not for {node.tensor(x).dtype.value}",
            "convert this part of the model as float",
        )
    return x


def _import_l2_pool(node: TfliteOperator) -> None:
    """Computes sqrt(mean(x * x)) in each window."""
    options, x = node.options(tflite.Pool2DOptions), _reals(node)
    size = node.at_least_one("window", (options.FilterHeight(), options.FilterWidth()))
    stride = node.at_least_one("stride", (options.StrideH(), options.StrideW()))
    image, output = node.with_rank(x, 4), node.the_output
    padding = node.padding(options.Padding(), image, size, stride, (1, 1))
    squares = node.apply(UnaryMath(MathFunction.SQUARE), x)
    means = node.value_like(f"{node.label}/means", image, node.tensor(output).shape)
    by_images(node, AveragePool2d(size, stride, padding), squares, (), means)
    activation = node.activation(options.FusedActivationFunction())
    if activation is Activation.NONE:
        node.add_node(UnaryMath(MathFunction.SQRT), (means,), output)
        return
    roots = node.apply(UnaryMath(MathFunction.SQRT), means)
    node.add_node(Clamp(activation), (roots,), output)


def _import_local_response(node: TfliteOperator) -> None:
    """Computes x * (bias + alpha * sum of squares of channels up to `radius` away) ** -beta."""
    options, x = node.options(tflite.LocalResponseNormalizationOptions), _reals(node)
    stored = node.with_rank(x, 4)
    channels = np.arange(stored.shape[3])
    is_near = np.abs(channels[:, np.newaxis] - channels) <= options.Radius()
    weights, bias, power = (
        node.add_value(f"{node.label}/{name}", TensorType(DType.F32, numbers.shape), numbers)
        for name, numbers in (
            ("weights", (is_near * options.Alpha()).astype(np.float32)[:, np.newaxis, np.newaxis]),
            ("bias", np.full(len(channels), options.Bias(), np.float32)),
            ("power", np.full((1, 1, 1, 1), -options.Beta(), np.float32)),
        )
    )
    squares = node.apply(UnaryMath(MathFunction.SQUARE), x)
    sums = node.value_like(f"{node.label}/sums", stored, stored.shape)
    by_images(node, Conv2d(), squares, (weights, bias), sums)
    factors = node.apply(Combine(Combination.POWER), sums, power)
    node.add_node(Mul(), (x, factors), node.the_output)


def _import_fake_quant(node: TfliteOperator) -> None:
    """Rounds floats to the steps that integers have, as in training with quantization."""
    options, x = node.options(tflite.FakeQuantOptions), _reals(node)
    low, high, bits = options.Min(), options.Max(), options.NumBits()
    is_range = low < high and low <= 0 <= high and np.isfinite([low, high]).all()
    if not is_range or options.NarrowRange() or not 2 <= bits <= _MOST_BITS:
        raise node.fail(
            f"range {low:g} to {high:g} in {bits} bits{', narrow,' if options.NarrowRange() else ''} "
            f"is not supported: it must contain 0, be whole, and have 2 to {_MOST_BITS} bits"
        )
    most = np.float32((1 << bits) - 1)
    step = (np.float32(high) - np.float32(low)) / most
    zero = np.floor(np.clip(-np.float32(low) / step, 0, most) + np.float32(0.5))

    def number(name: str, value: np.floating) -> str:
        numbers = np.full((1,) * node.tensor(x).rank, value, np.float32)
        return node.add_value(f"{node.label}/{name}", TensorType(DType.F32, numbers.shape), numbers)

    least = number("low", -zero * step)
    inside = node.apply(Combine(Combination.MAXIMUM), x, least)
    most_end = number("high", (most - zero) * step)
    inside = node.apply(Combine(Combination.MINIMUM), inside, most_end)
    steps = node.apply(Sub(), inside, least)
    steps = node.apply(Mul(), steps, number("inverse", 1 / step))
    steps = node.apply(Add(), steps, number("half", np.float32(0.5)))
    steps = node.apply(UnaryMath(MathFunction.FLOOR), steps)
    above = node.apply(Mul(), steps, number("step", step))
    node.add_node(Add(), (above, least), node.the_output)


COMPOSED: dict[str, Importer] = {
    "FAKE_QUANT": _import_fake_quant,
    "L2_POOL_2D": _import_l2_pool,
    "LOCAL_RESPONSE_NORMALIZATION": _import_local_response,
}
