"""L2_POOL_2D and LOCAL_RESPONSE_NORMALIZATION, composed of simpler operators."""

from __future__ import annotations

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import by_images
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Mul
from aot.ops.combine import Combination, Combine
from aot.ops.conv2d import Conv2d
from aot.ops.unary import Clamp
from aot.ops.unary_math import MathFunction, UnaryMath


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


COMPOSED: dict[str, Importer] = {
    "L2_POOL_2D": _import_l2_pool,
    "LOCAL_RESPONSE_NORMALIZATION": _import_local_response,
}
