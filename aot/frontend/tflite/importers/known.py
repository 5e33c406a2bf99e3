"""Operators whose results are known at compile time: shapes, ranges, fills, sparse weights."""

from __future__ import annotations

import numpy as np

from aot.frontend.tflite.importers.rearranging import rearrange, repeated
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import Array


def _known(node: TfliteOperator, array: Array) -> None:
    """Sets the operator's result to that constant."""
    output = node.the_output
    declared = node.tensor(output)
    if array.size != declared.elements:
        raise node.fail(
            f"it makes {array.size} elements, the file declares {list(declared.shape)}",
            "models need static shapes: convert with a fixed input shape",
        )
    node.set_constant(output, array.astype(declared.dtype.numpy).reshape(declared.shape))


def _import_shape(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    _known(node, np.array(node.tensor(x).shape, np.int64))


def _import_densify(node: TfliteOperator) -> None:
    """Imports DENSIFY: sparse constants are already dense."""
    x = node.constant(0, "sparse data")
    _known(node, node.array(x))


def _import_rank(node: TfliteOperator) -> None:
    x = node.operand(0, "the data")
    _known(node, np.array(node.tensor(x).rank, np.int64))


def _import_zeros_like(node: TfliteOperator) -> None:
    declared = node.tensor(node.the_output)
    _known(node, np.zeros(declared.shape, declared.dtype.numpy))


def _import_range(node: TfliteOperator) -> None:
    start, _, delta = (
        node.array(node.constant(i, what)).reshape(-1)[0]
        for i, what in enumerate(("start", "limit", "delta"))
    )
    if delta == 0:
        raise node.fail("its delta is 0", "the file looks corrupted: get or convert it again")
    count = node.tensor(node.the_output).elements
    _known(node, start + np.arange(count) * delta)


def _import_fill(node: TfliteOperator) -> None:
    value, output = node.operand(1, "the value"), node.the_output
    whole = node.tensor(output).shape
    if value in node.draft.constants:
        _known(node, np.broadcast_to(node.array(value).reshape(-1)[:1], whole).copy())
        return
    rearrange(node, value, repeated(node, node.tensor(value).shape, whole), output)


KNOWN: dict[str, Importer] = {
    "DENSIFY": _import_densify,
    "FILL": _import_fill,
    "RANGE": _import_range,
    "RANK": _import_rank,
    "SHAPE": _import_shape,
    "ZEROS_LIKE": _import_zeros_like,
}
