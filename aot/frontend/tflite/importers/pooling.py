"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.importers.rearranging import by_images, rearrange, require_movable, with_holes
from aot.frontend.tflite.model_file import CORRUPTED
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, TensorType, dense_strides
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.binary import Add, Mul
from aot.ops.combine import Combination, Combine
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.rearrange import Loops
from aot.ops.reduce import Reduce, Reduction
from aot.ops.reshape import Reshape


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


# DILATE and REDUCE_WINDOW: holes between elements, and windows of any dimensions combined.


Sizes = tuple[int, ...]
_LARGEST_EXACT = 1 << 53  # integers that the value of `pad` can hold


def _import_dilate(node: TfliteOperator) -> None:
    x, output = node.operand(0, "the data"), node.the_output
    require_movable(node, x, output)
    steps = _sizes(node, 1, "dilations", node.tensor(x).rank)
    value = node.array(node.constant(2, "value")).reshape(-1)[0]
    if abs(value) > _LARGEST_EXACT and node.tensor(x).dtype.is_integer:
        raise node.fail(f"holes of {value} are not supported, integers up to 2**53 are")
    made = with_holes(node, x, steps, float(value))
    node.add_node(Reshape(node.tensor(output).shape), (made,), output)


def _sizes(node: TfliteOperator, number: int, what: str, rank: int) -> Sizes:
    found = node.integers(number, what)
    if len(found) != rank or min(found, default=1) < 1:
        raise node.fail(f"{what} {list(found)} do not fit {rank} dimensions", CORRUPTED)
    return found


_BY = {
    tflite.ReduceWindowFunction.ADD: (Reduction.SUM, Add()),
    tflite.ReduceWindowFunction.MUL: (Reduction.PRODUCT, Mul()),
    tflite.ReduceWindowFunction.MINIMUM: (Reduction.MINIMUM, Combine(Combination.MINIMUM)),
    tflite.ReduceWindowFunction.MAXIMUM: (Reduction.MAXIMUM, Combine(Combination.MAXIMUM)),
    tflite.ReduceWindowFunction.ALL: (Reduction.ALL, Combine(Combination.AND)),
    tflite.ReduceWindowFunction.ANY: (Reduction.ANY, Combine(Combination.OR)),
}


def _import_reduce_window(node: TfliteOperator) -> None:
    """Puts the elements of each window side by side, and combines them with the first value."""
    x = node.operand(0, "the data")
    stored, shape = node.tensor(x), node.tensor(x).shape
    number = node.options(tflite.ReduceWindowOptions).ReduceFunction()
    if number not in _BY:
        raise node.fail(f"reduction number {number} is not known", CORRUPTED)
    names = ("window", "strides", "dilations")
    window, strides, steps = (_sizes(node, n, what, len(shape)) for n, what in enumerate(names, 2))
    made = tuple(
        (n - (count - 1) * step - 1) // stride + 1
        for n, count, stride, step in zip(shape, window, strides, steps, strict=True)
    )
    if min(made, default=1) < 1:
        raise node.fail(f"a window of {list(window)} in steps of {list(steps)} does not fit {list(shape)}")
    by, op = _BY[number]
    first = node.array(node.constant(1, "first value")).reshape(-1)
    if first.size != 1:
        raise node.fail(f"it has {first.size} first values, not one", CORRUPTED)
    is_neutral = bool(first[0] == _neutral(by, stored.dtype))
    if by is Reduction.MAXIMUM and is_neutral and _is_pool(stored, window, strides, steps):
        pool = MaxPool2d((window[1], window[2]), (strides[1], strides[2]))
        node.add_node(pool, (x,), node.the_output)
        return
    weights = dense_strides(shape)
    along, inside = (tuple(a * b for a, b in zip(each, weights, strict=True)) for each in (strides, steps))
    rows = node.value_like(f"{node.label}/windows", stored, (prod(made), prod(window)))
    rearrange(node, x, Loops((*made, *window), (*along, *inside)), rows)
    if is_neutral:
        node.reshaped_result(Reduce(by, (1,)), (rows,), (prod(made), 1))
        return
    reduced = node.value_like(f"{node.label}/reduced", stored, (prod(made), 1))
    node.add_node(Reduce(by, (1,)), (rows,), reduced)
    value = node.add_value(f"{node.label}/first", replace(stored, shape=(1, 1)), first.reshape(1, 1))
    node.reshaped_result(op, (reduced, value), (prod(made), 1))


def _is_pool(stored: TensorType, window: Sizes, strides: Sizes, steps: Sizes) -> bool:
    """Returns whether windows are those of a pool of one image."""
    if len(window) != 4 or stored.shape[0] != 1 or stored.dtype not in (DType.I8, DType.I16, DType.F32):
        return False
    return {window[0], window[3], strides[0], strides[3], *steps} == {1}


def _neutral(by: Reduction, dtype: DType) -> float:
    """Returns the first value that changes no result."""
    low, high = dtype.limits if dtype.is_integer else (-np.inf, np.inf)
    extremes: dict[Reduction, float] = {Reduction.MINIMUM: high, Reduction.MAXIMUM: low}
    return extremes.get(by, float(by in (Reduction.PRODUCT, Reduction.ALL)))


WINDOWS: Mapping[str, Importer] = {"DILATE": _import_dilate, "REDUCE_WINDOW": _import_reduce_window}
