"""L2_POOL_2D, composed of simpler operators."""

from __future__ import annotations

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import by_images
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.unary import Clamp
from aot.ops.unary_math import MathFunction, UnaryMath


def _reals(draft: TfliteDraft, operator: TfliteOperator) -> str:
    """Returns the input, which must be float: no interpreter has integer L2 pools."""
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


COMPOSED: dict[str, Importer] = {"L2_POOL_2D": _import_l2_pool}
