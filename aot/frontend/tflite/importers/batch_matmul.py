"""BATCH_MATMUL: matrices become the rows of images; a matrix that is broadcast is copied."""

from __future__ import annotations

from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import rearrange, repeated, transposed_constant
from aot.ir.types import DType
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.dense import Dense
from aot.ops.rounding import RequantRounding, rounding_of, rounding_of_i16


def import_batch_matmul(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.BatchMatMulOptions)
    names = [read.operand(operator, n, "a matrix") for n in (0, 1)]
    shapes = [draft.types[name].shape for name in names]
    if min(map(len, shapes)) < 2:
        raise operator.fail(f"shapes {[list(s) for s in shapes]}: matrices need at least two dimensions")
    try:
        batch = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
    except ValueError:
        raise operator.fail(f"shapes {[list(s) for s in shapes]} do not fit each other") from None
    if _is_dense(draft, names, bool(options.AdjX())):
        _import_dense(draft, operator, names, bool(options.AdjY()))
        return
    x, y = (_as_image(draft, operator, name, batch) for name in names)
    output = draft.types[read.the_output(operator)]
    op = BatchMatmul(
        x_transposed=bool(options.AdjX()),
        y_transposed=bool(options.AdjY()),
        rounding=_rounding(draft, x),
        result=None if output.dtype is draft.types[x].dtype else output.dtype,
    )
    read.reshaped_result(draft, operator, op, (x, y), (1, prod(batch), *output.shape[-2:]))


def _is_dense(draft: TfliteDraft, names: list[str], x_transposed: bool) -> bool:
    """Returns whether all vectors of the first operand are multiplied by the same constant matrix."""
    x, y = (draft.types[name] for name in names)
    if x_transposed or names[1] not in draft.constants or prod(y.shape[:-2]) != 1:
        return False
    if y.dtype is DType.F32 is x.dtype:
        return True
    return y.quant is not None and not y.quant.is_per_channel and not any(y.quant.zero_points)


def _import_dense(draft: TfliteDraft, operator: TfliteOperator, names: list[str], y_transposed: bool) -> None:
    (x, y), output = names, draft.types[read.the_output(operator)]
    weights = _without_batch(draft, y) if y_transposed else _matrix_by_outputs(draft, y)
    rows, columns = draft.types[weights].shape
    vectors = read.reshaped(draft, operator, x, (draft.types[x].elements // columns, columns))
    op = Dense(
        rounding=_rounding(draft, x),
        result=None if output.dtype is draft.types[x].dtype else output.dtype,
    )
    shape = (draft.types[vectors].shape[0], rows)
    read.reshaped_result(draft, operator, op, (vectors, weights, None), shape)


def _without_batch(draft: TfliteDraft, name: str) -> str:
    return read.constant_like(draft, name, draft.types[name].shape[-2:])


def _matrix_by_outputs(draft: TfliteDraft, name: str) -> str:
    rows, columns = draft.types[name].shape[-2:]
    return transposed_constant(draft, name, (rows, columns), (1, 0), (columns, rows))


def _rounding(draft: TfliteDraft, x: str) -> RequantRounding:
    is_wide = draft.types[x].dtype is DType.I16
    return (rounding_of_i16 if is_wide else rounding_of)(BatchMatmul.name, draft.rounding)


def _as_image(draft: TfliteDraft, operator: TfliteOperator, name: str, batch: tuple[int, ...]) -> str:
    """Returns [1, matrices, rows, columns]; a single matrix for all is not copied."""
    tensor = draft.types[name]
    matrix, own = tensor.shape[-2:], tensor.shape[:-2]
    if prod(own) not in (1, prod(batch)):
        whole = (*batch, *matrix)
        copied = read.value_like(draft, f"{name}/repeated", tensor, whole)
        rearrange(draft, operator, name, repeated(operator, tensor.shape, whole), copied)
        name, own = copied, batch
    return read.reshaped(draft, operator, name, (1, prod(own), *matrix))


BATCH_MATMUL: dict[str, Importer] = {"BATCH_MATMUL": import_batch_matmul}
