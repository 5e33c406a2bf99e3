"""SCATTER_ND, SPARSE_TO_DENSE, sums of segments and of lookups: elements put where indices point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.model_file import CORRUPTED
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import Array, DType, TensorType, dense_strides
from aot.ops.binary import Div, Mul
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.gather import Gather
from aot.ops.reduce import Reduce, Reduction
from aot.ops.reshape import Reshape
from aot.ops.select import Select
from aot.ops.unary_math import MathFunction, UnaryMath

_MOST_PARTS = 64  # updates that are combined: each result is compared with each of them


def _import_scatter_nd(node: TfliteOperator) -> None:
    """Imports SCATTER_ND: zeros, to which each update is added at its place."""
    indices, updates = node.operand(0, "the indices"), node.operand(1, "the updates")
    shape = node.tensor(node.the_output).shape
    sizes = node.tensor(indices).shape
    depth = sizes[-1] if sizes else 0
    if not 0 < depth <= len(shape) or node.tensor(updates).shape != (*sizes[:-1], *shape[depth:]):
        raise node.fail(
            f"updates {list(node.tensor(updates).shape)} at indices {list(sizes)} do not fit {list(shape)}"
        )
    _require_integers(node, indices)
    places = _known_places(node, indices, shape[:depth])
    if places is not None and len(set(places.tolist())) == places.size:
        _put(node, updates, places, (prod(shape[:depth]), prod(shape[depth:])), 0)
        return
    if places is None and depth > 1:
        node.integers(0, "indices")  # raises: the places are made of several numbers
    number = _flat(node, indices) if places is None else _constant(node, places)
    _combined(node, updates, number, prod(shape[:depth]), Reduction.SUM)


def _require_integers(node: TfliteOperator, name: str) -> None:
    dtype = node.tensor(name).dtype
    if dtype is not DType.I32:
        raise node.fail(f"indices of {dtype.value} are not supported; i32 is")


def _known_places(node: TfliteOperator, indices: str, shape: tuple[int, ...]) -> Array | None:
    """Returns the number of each place in the flat dimensions, or None if indices are computed by the run."""
    known = node.draft.constants.get(indices)
    if known is None:
        return None
    for axis, size in enumerate(shape):
        node.require_inside(known[..., axis], size)
    return np.asarray((known.reshape(-1, len(shape)) * np.array(dense_strides(shape))).sum(axis=1), np.int32)


def _import_sparse_to_dense(node: TfliteOperator) -> None:
    """Imports SPARSE_TO_DENSE: a default value, except at known places."""
    shape, indices = (
        node.tensor(node.the_output).shape,
        node.integers(0, "indices"),
    )
    values = node.operand(2, "the values")
    default = node.array(node.constant(3, "default value")).reshape(-1)[0]
    count = node.tensor(values).elements
    listed, odd = divmod(len(indices), len(shape)) if shape else (0, 1)
    if odd or count not in (1, listed):
        raise node.fail(f"{count} values at {len(indices)} indices do not fit {list(shape)}")
    known = np.array(indices, np.int64).reshape(-1, len(shape))
    for axis, size in enumerate(shape):
        node.require_inside(known[:, axis], size)
    places = (known * np.array(dense_strides(shape))).sum(axis=1)
    _put(node, values, places, (prod(shape), 1), default)


def _put(
    node: TfliteOperator,
    parts: str,
    places: Array,
    shape: tuple[int, int],
    default: float,
) -> None:
    """Sets the output's rows to the parts at their places, and others to the default.

    One part may be for all places.
    """
    stored, (rows, each) = node.tensor(parts), shape
    flat = node.reshaped(parts, (stored.elements // each, each))
    row = node.add_value(
        f"{node.label}/default",
        replace(stored, shape=(1, each)),
        np.full((1, each), default, stored.dtype.numpy),
    )
    whole = node.value_like(f"{node.label}/choices", stored, (stored.elements // each + 1, each))
    node.add_node(Concat(0), (flat, row), whole)
    chosen = np.full(rows, stored.elements // each)
    chosen[places] = np.arange(stored.elements // each)
    picked = _constant(node, chosen)
    node.reshaped_into(Gather(0), (whole, picked), (rows, each), node.the_output)


def _import_segments(by: Reduction) -> Importer:
    """Returns the importer of a reduction of the rows that have the same number."""

    def importer(node: TfliteOperator) -> None:
        data, numbers = node.operand(0, "the data"), node.operand(1, "the numbers")
        shape, whole = node.tensor(numbers).shape, node.tensor(data).shape
        segments = node.tensor(node.the_output).shape
        if whole[: len(shape)] != shape or segments[1:] != whole[len(shape) :] or not segments:
            raise node.fail(
                f"segments of shape {list(shape)} of data of shape {list(whole)} do not fit {list(segments)}"
            )
        _require_integers(node, numbers)
        _combined(node, data, _flat(node, numbers), segments[0], by)

    return importer


def _combined(node: TfliteOperator, parts: str, numbers: str, rows: int, by: Reduction) -> None:
    """Sets each of the output's rows to the parts that have its number, combined."""
    stored = node.tensor(parts)
    is_it = _rows_of_parts(node, stored, numbers, rows)
    chosen = _chosen(node, is_it, parts, _neutral(stored, by))
    made = (rows, 1, node.tensor(chosen).shape[2])
    node.reshaped_into(Reduce(by, (1,)), (chosen,), made, node.the_output)


def _rows_of_parts(node: TfliteOperator, stored: TensorType, numbers: str, rows: int) -> str:
    """Returns [rows, parts, 1]: whether a part has the number of a row."""
    count = node.tensor(numbers).elements
    if count > _MOST_PARTS:
        raise node.fail(
            f"{count} parts that may have the same place are not supported, at most {_MOST_PARTS}",
            "give constant indices without duplicates, or fewer updates",
        )
    if stored.quant is not None or stored.dtype is DType.BOOL:
        raise node.fail(
            f"parts of {stored.dtype.value} that may have the same place are not supported",
            "convert this part of the model as float",
        )
    of_row = _constant(node, np.arange(rows).reshape(rows, 1, 1), node.tensor(numbers).dtype)
    apart = node.reshaped(numbers, (1, count, 1))
    return node.apply(Compare(Relation.EQUAL), of_row, apart)


def _chosen(node: TfliteOperator, is_it: str, parts: str, other: float) -> str:
    """Returns [rows, parts, elements of a part]: the parts of each row; others have one value."""
    stored, count = node.tensor(parts), node.tensor(is_it).shape[1]
    flat = node.reshaped(parts, (1, count, stored.elements // count))
    array = np.full((1, 1, 1), other, stored.dtype.numpy)
    nothing = node.add_value(f"{node.label}/nothing", replace(stored, shape=(1, 1, 1)), array)
    return node.apply(Select(), is_it, flat, nothing)


def _import_sparse_embedding(node: TfliteOperator) -> None:
    """Imports EMBEDDING_LOOKUP_SPARSE: sums of weighted rows of a table, perhaps divided by their weights."""
    ids, indices, weights, table = (
        node.operand(number, what)
        for number, what in ((0, "the ids"), (1, "the indices"), (3, "the weights"), (4, "the table"))
    )
    shape = node.integers(2, "the shape")[:-1]
    count, output = node.tensor(ids).elements, node.the_output
    found = [node.tensor(name).shape for name in (indices, weights)]
    if found != [(count, len(shape) + 1), (count,)]:
        raise node.fail(f"indices and weights {found} do not fit {count} ids and shape {list(shape)}")
    for name in (ids, indices):
        _require_integers(node, name)
    node.require_inside(node.draft.constants.get(ids), node.tensor(table).shape[0])
    # The last index counts the lookups of one row, which only add up.
    flat = np.array([*dense_strides(shape), 0], np.int32).reshape(1, -1)
    scaled = node.apply(Mul(), indices, _constant(node, flat))
    numbers = node.apply(Reduce(Reduction.SUM, (1,)), scaled)
    numbers = _flat(node, numbers)
    factor = node.reshaped(weights, (count, 1))
    looked_up = node.apply(Gather(0), table, ids)
    looked_up = node.reshaped(looked_up, (count, node.tensor(looked_up).elements // count))
    rows = prod(shape)
    is_it = _rows_of_parts(node, node.tensor(looked_up), numbers, rows)

    def summed(parts: str) -> str:
        chosen = _chosen(node, is_it, parts, 0)
        return node.apply(Reduce(Reduction.SUM, (1,)), chosen)

    total = summed(node.apply(Mul(), looked_up, factor))
    combiner = node.options(tflite.EmbeddingLookupSparseOptions).Combiner()
    if combiner not in _DIVISORS:
        raise node.fail(f"combiner number {combiner} is not known", CORRUPTED)
    if combiner != tflite.CombinerType.SUM:
        is_mean = combiner == tflite.CombinerType.MEAN
        divisor = summed(factor if is_mean else node.apply(Mul(), factor, factor))
        if not is_mean:
            divisor = node.apply(UnaryMath(MathFunction.SQRT), divisor)
        # A row without lookups stays 0.
        used = node.apply(Reduce(Reduction.ANY, (1,)), is_it)
        one = node.add_value(
            f"{node.label}/one", TensorType(DType.F32, (1, 1, 1)), np.ones((1, 1, 1), np.float32)
        )
        divisor = node.apply(Select(), used, divisor, one)
        total = node.apply(Div(), total, divisor)
    node.add_node(Reshape(node.tensor(output).shape), (total,), output)


_DIVISORS = (tflite.CombinerType.SUM, tflite.CombinerType.MEAN, tflite.CombinerType.SQRTN)


def _neutral(stored: TensorType, by: Reduction) -> float:
    """Returns what a segment without rows has."""
    low, high = (
        (float(np.finfo(np.float32).min), float(np.finfo(np.float32).max))
        if stored.dtype is DType.F32
        else stored.dtype.limits
    )
    return {Reduction.SUM: 0, Reduction.PRODUCT: 1, Reduction.MAXIMUM: low, Reduction.MINIMUM: high}[by]


def _flat(node: TfliteOperator, name: str) -> str:
    if name in node.draft.constants:
        return node.constant_like(name, (node.tensor(name).elements,))
    return node.reshaped(name, (node.tensor(name).elements,))


def _constant(node: TfliteOperator, numbers: Array, dtype: DType = DType.I32) -> str:
    array = np.asarray(numbers).astype(dtype.numpy)
    return node.add_value(f"{node.label}/numbers", TensorType(dtype, array.shape), array)


SCATTERING: Mapping[str, Importer] = {
    "EMBEDDING_LOOKUP_SPARSE": _import_sparse_embedding,
    "SCATTER_ND": _import_scatter_nd,
    "SEGMENT_SUM": _import_segments(Reduction.SUM),
    "SPARSE_TO_DENSE": _import_sparse_to_dense,
    "UNSORTED_SEGMENT_MAX": _import_segments(Reduction.MAXIMUM),
    "UNSORTED_SEGMENT_MIN": _import_segments(Reduction.MINIMUM),
    "UNSORTED_SEGMENT_PROD": _import_segments(Reduction.PRODUCT),
    "UNSORTED_SEGMENT_SUM": _import_segments(Reduction.SUM),
}
