"""FAKE_QUANT, L2_POOL_2D and LOCAL_RESPONSE_NORMALIZATION, composed of simpler operators."""

from __future__ import annotations

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import by_images
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add, Mul, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.conv2d import Conv2d
from aot.ops.unary import Clamp
from aot.ops.unary_math import MathFunction, UnaryMath

_MOST_BITS = 16


def _reals(draft: TfliteDraft, operator: TfliteOperator) -> str:
    """Returns the input, which must be float: no interpreter has integers here."""
    x = read.operand(operator, 0, "the data")
    if draft.types[x].dtype is not DType.F32:
        raise operator.fail(
            f"it is supported for f32 only, not for {draft.types[x].dtype.value}",
            "convert this part of the model as float",
        )
    return x


def _import_l2_pool(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Computes sqrt(mean(x * x)) in each window."""
    options, x = operator.options(tflite.Pool2DOptions), _reals(draft, operator)
    size = read.at_least_one(operator, "window", (options.FilterHeight(), options.FilterWidth()))
    stride = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    image, output = read.with_rank(draft, operator, x, 4), read.the_output(operator)
    padding = read.padding(operator, options.Padding(), image, size, stride, (1, 1))
    squares = read.made(draft, operator, UnaryMath(MathFunction.SQUARE), x)
    means = read.value_like(draft, f"{operator.label}/means", image, draft.types[output].shape)
    by_images(draft, operator, AveragePool2d(size, stride, padding), squares, (), means)
    activation = read.activation(operator, options.FusedActivationFunction())
    if activation is Activation.NONE:
        draft.add_node(operator, UnaryMath(MathFunction.SQRT), (means,), output)
        return
    roots = read.made(draft, operator, UnaryMath(MathFunction.SQRT), means)
    draft.add_node(operator, Clamp(activation), (roots,), output)


def _import_local_response(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Computes x * (bias + alpha * sum of squares of channels up to `radius` away) ** -beta."""
    options, x = operator.options(tflite.LocalResponseNormalizationOptions), _reals(draft, operator)
    stored = read.with_rank(draft, operator, x, 4)
    channels = np.arange(stored.shape[3])
    is_near = np.abs(channels[:, np.newaxis] - channels) <= options.Radius()
    weights, bias, power = (
        draft.add_value(f"{operator.label}/{name}", TensorType(DType.F32, numbers.shape), numbers)
        for name, numbers in (
            ("weights", (is_near * options.Alpha()).astype(np.float32)[:, np.newaxis, np.newaxis]),
            ("bias", np.full(len(channels), options.Bias(), np.float32)),
            ("power", np.full((1, 1, 1, 1), -options.Beta(), np.float32)),
        )
    )
    squares = read.made(draft, operator, UnaryMath(MathFunction.SQUARE), x)
    sums = read.value_like(draft, f"{operator.label}/sums", stored, stored.shape)
    by_images(draft, operator, Conv2d(), squares, (weights, bias), sums)
    factors = read.made(draft, operator, Combine(Combination.POWER), sums, power)
    draft.add_node(operator, Mul(), (x, factors), read.the_output(operator))


def _import_fake_quant(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Rounds floats to the steps that integers have, as in training with quantization."""
    options, x = operator.options(tflite.FakeQuantOptions), _reals(draft, operator)
    low, high, bits = options.Min(), options.Max(), options.NumBits()
    is_range = low < high and low <= 0 <= high and np.isfinite([low, high]).all()
    if not is_range or options.NarrowRange() or not 2 <= bits <= _MOST_BITS:
        raise operator.fail(
            f"range {low:g} to {high:g} in {bits} bits{', narrow,' if options.NarrowRange() else ''} "
            f"is not supported: it must contain 0, be whole, and have 2 to {_MOST_BITS} bits"
        )
    most = np.float32((1 << bits) - 1)
    step = (np.float32(high) - np.float32(low)) / most
    zero = np.floor(np.clip(-np.float32(low) / step, 0, most) + np.float32(0.5))

    def number(name: str, value: np.floating) -> str:
        numbers = np.full((1,) * draft.types[x].rank, value, np.float32)
        return draft.add_value(f"{operator.label}/{name}", TensorType(DType.F32, numbers.shape), numbers)

    least = number("low", -zero * step)
    inside = read.made(draft, operator, Combine(Combination.MAXIMUM), x, least)
    most_end = number("high", (most - zero) * step)
    inside = read.made(draft, operator, Combine(Combination.MINIMUM), inside, most_end)
    steps = read.made(draft, operator, Sub(), inside, least)
    steps = read.made(draft, operator, Mul(), steps, number("inverse", 1 / step))
    steps = read.made(draft, operator, Add(), steps, number("half", np.float32(0.5)))
    steps = read.made(draft, operator, UnaryMath(MathFunction.FLOOR), steps)
    above = read.made(draft, operator, Mul(), steps, number("step", step))
    draft.add_node(operator, Add(), (above, least), read.the_output(operator))


COMPOSED: dict[str, Importer] = {
    "FAKE_QUANT": _import_fake_quant,
    "L2_POOL_2D": _import_l2_pool,
    "LOCAL_RESPONSE_NORMALIZATION": _import_local_response,
}
