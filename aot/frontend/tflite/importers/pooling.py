"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

from dataclasses import replace

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import by_images
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.max_pool2d import MaxPool2d


def import_average_pool_2d(draft: TfliteDraft, operator: TfliteOperator) -> None:
    pool = _pool(draft, operator, AveragePool2d)
    assert isinstance(pool, AveragePool2d)
    halves = Halves.UP if read.the_output(operator) in draft.unsigned else Halves.AWAY
    by_images(draft, operator, replace(pool, halves=halves), read.operand(operator, 0, "x"), ())


def import_max_pool_2d(draft: TfliteDraft, operator: TfliteOperator) -> None:
    by_images(draft, operator, _pool(draft, operator, MaxPool2d), read.operand(operator, 0, "x"), ())


def _pool(
    draft: TfliteDraft, operator: TfliteOperator, op_class: type[AveragePool2d] | type[MaxPool2d]
) -> AveragePool2d | MaxPool2d:
    options = operator.options(tflite.Pool2DOptions)
    _, x_type = read.image(draft, operator)
    size = read.at_least_one(operator, "window", (options.FilterHeight(), options.FilterWidth()))
    stride = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    return op_class(
        size=size,
        stride=stride,
        padding=read.padding(operator, options.Padding(), x_type, size, stride, (1, 1)),
        activation=read.activation(operator, options.FusedActivationFunction()),
    )


POOLING: dict[str, Importer] = {
    "AVERAGE_POOL_2D": import_average_pool_2d,
    "MAX_POOL_2D": import_max_pool_2d,
}
