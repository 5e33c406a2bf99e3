"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

import tflite

from aot.frontend.tflite.draft import Draft, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.max_pool2d import MaxPool2d


def import_average_pool_2d(draft: Draft, operator: Operator, mode: str) -> None:
    _import_pool(draft, operator, AveragePool2d)


def import_max_pool_2d(draft: Draft, operator: Operator, mode: str) -> None:
    _import_pool(draft, operator, MaxPool2d)


def _import_pool(draft: Draft, operator: Operator, op_class: type[AveragePool2d] | type[MaxPool2d]) -> None:
    options = operator.options(tflite.Pool2DOptions)
    x, x_type = read.image(draft, operator)
    size = read.at_least_one(operator, "window", (options.FilterHeight(), options.FilterWidth()))
    stride = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    op = op_class(
        size=size,
        stride=stride,
        padding=read.padding(operator, options.Padding(), x_type, size, stride, (1, 1)),
        activation=read.activation(operator, options.FusedActivationFunction()),
    )
    draft.add_node(operator, op, (x,), read.the_output(operator))
