"""Det: Gaussian elimination step by step, with the largest first element as pivot."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import sliced
from aot.frontend.onnx.importers.real import Real
from aot.frontend.onnx.operation import Importer, OnnxOperator

_MAX_MATRIX_ROWS = 64  # each is a dozen layers


def _det(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] > _MAX_MATRIX_ROWS:
        raise node.fail(
            f"shape {list(shape)} is not supported, only square matrices of up to {_MAX_MATRIX_ROWS} rows"
        )
    size, count = shape[-1], prod(shape[:-2])
    left = node.value(node.reshaped(node.plain(x), (count, size, size)), x.element)
    total = node.number(np.ones((count, 1, 1)), x.element)
    for _ in range(size - 1):
        pivot, left = _eliminated(node, left)
        total = node.do("Mul", total, pivot)
    return node.value(node.reshaped(node.plain(node.do("Mul", total, left)), shape[:-2]), x.element)


def _eliminated(node: OnnxOperator, x: Value) -> tuple[Value, Value]:
    """Returns the pivot with the sign of the exchange, and the matrices without first row and column."""
    size, nothing = node.shape(x)[-1], node.number(0, x.element)
    column = sliced(node, x, {2: range(1)})
    largest = node.do("ArgMax", node.do("Abs", column), axis=1, keepdims=1)  # [matrices, 1, 1]
    numbers = node.number(np.arange(size).reshape(1, size, 1), TensorProto.INT64)
    chosen = node.do("Equal", largest, numbers)
    row = node.do("ReduceSum", node.do("Where", chosen, x, nothing), node.number([1], TensorProto.INT64))
    exchanged = node.do("Where", chosen, sliced(node, x, {1: range(1)}), x)
    below = sliced(node, exchanged, {1: range(1, size)})
    pivot = sliced(node, row, {2: range(1)})
    is_none = node.do("Equal", pivot, nothing)  # then the whole column is 0
    by = node.do(
        "Div", sliced(node, below, {2: range(1)}), node.do("Where", is_none, node.number(1, x.element), pivot)
    )
    rest, of_row = (sliced(node, v, {2: range(1, size)}) for v in (below, row))
    stays = node.do("Equal", largest, node.number(0, TensorProto.INT64))
    signed = node.do("Where", stays, pivot, node.do("Neg", pivot))
    return signed, (Real(node, rest) - Real(node, by) * Real(node, of_row)).value


DETERMINANTS: Mapping[str, Importer] = {"Det": _det}
