"""BATCH_MATMUL: matrices become the rows of images; a matrix that is broadcast is copied."""

from __future__ import annotations

from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.importers.rearranging import rearrange, repeated, transposed_constant
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.dense import Dense
from aot.ops.rounding import RequantRounding, rounding_of, rounding_of_i16


def import_batch_matmul(node: TfliteOperator) -> None:
    options = node.options(tflite.BatchMatMulOptions)
    names = [node.operand(n, "a matrix") for n in (0, 1)]
    shapes = [node.tensor(name).shape for name in names]
    if min(map(len, shapes)) < 2:
        raise node.fail(f"shapes {[list(s) for s in shapes]}: matrices need at least two dimensions")
    try:
        batch = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
    except ValueError:
        raise node.fail(f"shapes {[list(s) for s in shapes]} do not fit each other") from None
    if _is_dense(node, names, bool(options.AdjX())):
        _import_dense(node, names, bool(options.AdjY()))
        return
    x, y = (_as_image(node, name, batch) for name in names)
    output = node.tensor(node.the_output)
    op = BatchMatmul(
        x_transposed=bool(options.AdjX()),
        y_transposed=bool(options.AdjY()),
        rounding=_rounding(node, x),
        result=None if output.dtype is node.tensor(x).dtype else output.dtype,
    )
    node.reshaped_result(op, (x, y), (1, prod(batch), *output.shape[-2:]))


def _is_dense(node: TfliteOperator, names: list[str], x_transposed: bool) -> bool:
    """Returns whether all vectors of the first operand are multiplied by the same constant matrix."""
    x, y = (node.tensor(name) for name in names)
    if x_transposed or names[1] not in node.draft.constants or prod(y.shape[:-2]) != 1:
        return False
    if y.dtype is DType.F32 is x.dtype:
        return True
    return y.quant is not None and not y.quant.is_per_channel and not any(y.quant.zero_points)


def _import_dense(node: TfliteOperator, names: list[str], y_transposed: bool) -> None:
    (x, y), output = names, node.tensor(node.the_output)
    weights = _without_batch(node, y) if y_transposed else _matrix_by_outputs(node, y)
    rows, columns = node.tensor(weights).shape
    vectors = node.reshaped(x, (node.tensor(x).elements // columns, columns))
    op = Dense(
        rounding=_rounding(node, x),
        result=None if output.dtype is node.tensor(x).dtype else output.dtype,
    )
    shape = (node.tensor(vectors).shape[0], rows)
    node.reshaped_result(op, (vectors, weights, None), shape)


def _without_batch(node: TfliteOperator, name: str) -> str:
    return node.constant_like(name, node.tensor(name).shape[-2:])


def _matrix_by_outputs(node: TfliteOperator, name: str) -> str:
    rows, columns = node.tensor(name).shape[-2:]
    return transposed_constant(node, name, (rows, columns), (1, 0), (columns, rows))


def _rounding(node: TfliteOperator, x: str) -> RequantRounding:
    is_wide = node.tensor(x).dtype is DType.I16
    return (rounding_of_i16 if is_wide else rounding_of)(BatchMatmul.name, node.draft.rounding)


def _as_image(node: TfliteOperator, name: str, batch: tuple[int, ...]) -> str:
    """Returns [1, matrices, rows, columns]; a single matrix for all is not copied."""
    tensor = node.tensor(name)
    matrix, own = tensor.shape[-2:], tensor.shape[:-2]
    if prod(own) not in (1, prod(batch)):
        whole = (*batch, *matrix)
        copied = node.value_like(f"{name}/repeated", tensor, whole)
        rearrange(node, name, repeated(node, tensor.shape, whole), copied)
        name, own = copied, batch
    return node.reshaped(name, (1, prod(own), *matrix))


BATCH_MATMUL: dict[str, Importer] = {"BATCH_MATMUL": import_batch_matmul}
