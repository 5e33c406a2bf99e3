"""Operators whose results are known at compile time: shapes, ranges, fills, sparse weights."""

from __future__ import annotations

import numpy as np

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import rearrange, repeated
from aot.ir.types import Array


def _known(draft: TfliteDraft, operator: TfliteOperator, array: Array) -> None:
    """Sets the operator's result to that constant."""
    output = read.the_output(operator)
    declared = draft.types[output]
    if array.size != declared.elements:
        raise operator.fail(
            f"it makes {array.size} elements, the file declares {list(declared.shape)}",
            "models need static shapes: convert with a fixed input shape",
        )
    draft.set_constant(operator, output, array.astype(declared.dtype.numpy).reshape(declared.shape))


def _import_shape(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    _known(draft, operator, np.array(draft.types[x].shape, np.int64))


def _import_densify(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports DENSIFY: sparse constants are already dense."""
    x = read.constant(draft, operator, 0, "sparse data")
    _known(draft, operator, draft.constants[x])


def _import_rank(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x = read.operand(operator, 0, "the data")
    _known(draft, operator, np.array(draft.types[x].rank, np.int64))


def _import_zeros_like(draft: TfliteDraft, operator: TfliteOperator) -> None:
    declared = draft.types[read.the_output(operator)]
    _known(draft, operator, np.zeros(declared.shape, declared.dtype.numpy))


def _import_range(draft: TfliteDraft, operator: TfliteOperator) -> None:
    start, _, delta = (
        draft.constants[read.constant(draft, operator, i, what)].reshape(-1)[0]
        for i, what in enumerate(("start", "limit", "delta"))
    )
    if delta == 0:
        raise operator.fail("its delta is 0", "the file looks corrupted: get or convert it again")
    count = draft.types[read.the_output(operator)].elements
    _known(draft, operator, start + np.arange(count) * delta)


def _import_fill(draft: TfliteDraft, operator: TfliteOperator) -> None:
    value, output = read.operand(operator, 1, "the value"), read.the_output(operator)
    whole = draft.types[output].shape
    if value in draft.constants:
        _known(draft, operator, np.broadcast_to(draft.constants[value].reshape(-1)[:1], whole).copy())
        return
    rearrange(draft, operator, value, repeated(operator, draft.types[value].shape, whole), output)


KNOWN: dict[str, Importer] = {
    "DENSIFY": _import_densify,
    "FILL": _import_fill,
    "RANGE": _import_range,
    "RANK": _import_rank,
    "SHAPE": _import_shape,
    "ZEROS_LIKE": _import_zeros_like,
}
