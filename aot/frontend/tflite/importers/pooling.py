"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

from dataclasses import replace

import tflite

from aot.frontend.tflite.importers.rearranging import by_images
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.max_pool2d import MaxPool2d


def import_average_pool_2d(node: TfliteOperator) -> None:
    pool = _pool(node, AveragePool2d)
    assert isinstance(pool, AveragePool2d)
    halves = Halves.UP if node.the_output in node.draft.unsigned else Halves.AWAY
    by_images(node, replace(pool, halves=halves), node.operand(0, "x"), ())


def import_max_pool_2d(node: TfliteOperator) -> None:
    by_images(node, _pool(node, MaxPool2d), node.operand(0, "x"), ())


def _pool(node: TfliteOperator, op_class: type[AveragePool2d] | type[MaxPool2d]) -> AveragePool2d | MaxPool2d:
    options = node.options(tflite.Pool2DOptions)
    _, x_type = node.image()
    size = node.at_least_one("window", (options.FilterHeight(), options.FilterWidth()))
    stride = node.at_least_one("stride", (options.StrideH(), options.StrideW()))
    return op_class(
        size=size,
        stride=stride,
        padding=node.padding(options.Padding(), x_type, size, stride, (1, 1)),
        activation=node.activation(options.FusedActivationFunction()),
    )


POOLING: dict[str, Importer] = {
    "AVERAGE_POOL_2D": import_average_pool_2d,
    "MAX_POOL_2D": import_max_pool_2d,
}
