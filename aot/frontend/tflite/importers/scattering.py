"""SCATTER_ND, SPARSE_TO_DENSE, sums of segments and of lookups: elements put where indices point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.model_file import CORRUPTED
from aot.ir.strides import dense_strides
from aot.ir.types import Array, DType, TensorType
from aot.ops.binary import Div, Mul
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.gather import Gather
from aot.ops.reduce import Reduce, Reduction
from aot.ops.reshape import Reshape
from aot.ops.select import Select
from aot.ops.unary_math import MathFunction, UnaryMath

_MOST_PARTS = 64  # updates that are combined: each result is compared with each of them


def _import_scatter_nd(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports SCATTER_ND: zeros, to which each update is added at its place."""
    indices, updates = read.operand(operator, 0, "the indices"), read.operand(operator, 1, "the updates")
    shape = draft.types[read.the_output(operator)].shape
    sizes = draft.types[indices].shape
    depth = sizes[-1] if sizes else 0
    if not 0 < depth <= len(shape) or draft.types[updates].shape != (*sizes[:-1], *shape[depth:]):
        raise operator.fail(
            f"updates {list(draft.types[updates].shape)} at indices {list(sizes)} do not fit {list(shape)}"
        )
    _require_integers(draft, operator, indices)
    places = _known_places(draft, operator, indices, shape[:depth])
    if places is not None and len(set(places.tolist())) == places.size:
        _put(draft, operator, updates, places, (prod(shape[:depth]), prod(shape[depth:])), 0)
        return
    if places is None and depth > 1:
        read.integers(draft, operator, 0, "indices")  # raises: the places are made of several numbers
    number = _flat(draft, operator, indices) if places is None else _constant(draft, operator, places)
    _combined(draft, operator, updates, number, prod(shape[:depth]), Reduction.SUM)


def _require_integers(draft: TfliteDraft, operator: TfliteOperator, name: str) -> None:
    dtype = draft.types[name].dtype
    if dtype is not DType.I32:
        raise operator.fail(f"indices of {dtype.value} are not supported; i32 is")


def _known_places(
    draft: TfliteDraft, operator: TfliteOperator, indices: str, shape: tuple[int, ...]
) -> Array | None:
    """Returns the number of each place in the flat dimensions, or None if indices are computed by the run."""
    known = draft.constants.get(indices)
    if known is None:
        return None
    for axis, size in enumerate(shape):
        operator.require_inside(known[..., axis], size)
    return np.asarray((known.reshape(-1, len(shape)) * np.array(dense_strides(shape))).sum(axis=1), np.int32)


def _import_sparse_to_dense(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports SPARSE_TO_DENSE: a default value, except at known places."""
    shape, indices = (
        draft.types[read.the_output(operator)].shape,
        read.integers(draft, operator, 0, "indices"),
    )
    values = read.operand(operator, 2, "the values")
    default = draft.constants[read.constant(draft, operator, 3, "default value")].reshape(-1)[0]
    count = draft.types[values].elements
    listed, odd = divmod(len(indices), len(shape)) if shape else (0, 1)
    if odd or count not in (1, listed):
        raise operator.fail(f"{count} values at {len(indices)} indices do not fit {list(shape)}")
    known = np.array(indices, np.int64).reshape(-1, len(shape))
    for axis, size in enumerate(shape):
        operator.require_inside(known[:, axis], size)
    places = (known * np.array(dense_strides(shape))).sum(axis=1)
    _put(draft, operator, values, places, (prod(shape), 1), default)


def _put(
    draft: TfliteDraft,
    operator: TfliteOperator,
    parts: str,
    places: Array,
    shape: tuple[int, int],
    default: float,
) -> None:
    """Sets the output's rows to the parts at their places, and others to the default.

    One part may be for all places.
    """
    stored, (rows, each) = draft.types[parts], shape
    flat = read.reshaped(draft, operator, parts, (stored.elements // each, each))
    row = draft.add_value(
        f"{operator.label}/default",
        replace(stored, shape=(1, each)),
        np.full((1, each), default, stored.dtype.numpy),
    )
    whole = read.value_like(draft, f"{operator.label}/choices", stored, (stored.elements // each + 1, each))
    draft.add_node(operator, Concat(0), (flat, row), whole)
    chosen = np.full(rows, stored.elements // each)
    chosen[places] = np.arange(stored.elements // each)
    picked = _constant(draft, operator, chosen)
    read.reshaped_into(draft, operator, Gather(0), (whole, picked), (rows, each), read.the_output(operator))


def _import_segments(by: Reduction) -> Importer:
    """Returns the importer of a reduction of the rows that have the same number."""

    def importer(draft: TfliteDraft, operator: TfliteOperator) -> None:
        data, numbers = read.operand(operator, 0, "the data"), read.operand(operator, 1, "the numbers")
        shape, whole = draft.types[numbers].shape, draft.types[data].shape
        segments = draft.types[read.the_output(operator)].shape
        if whole[: len(shape)] != shape or segments[1:] != whole[len(shape) :] or not segments:
            raise operator.fail(
                f"segments of shape {list(shape)} of data of shape {list(whole)} do not fit {list(segments)}"
            )
        _require_integers(draft, operator, numbers)
        _combined(draft, operator, data, _flat(draft, operator, numbers), segments[0], by)

    return importer


def _combined(
    draft: TfliteDraft, operator: TfliteOperator, parts: str, numbers: str, rows: int, by: Reduction
) -> None:
    """Sets each of the output's rows to the parts that have its number, combined."""
    stored = draft.types[parts]
    is_it = _rows_of_parts(draft, operator, stored, numbers, rows)
    chosen = _chosen(draft, operator, is_it, parts, _neutral(stored, by))
    made = (rows, 1, draft.types[chosen].shape[2])
    read.reshaped_into(draft, operator, Reduce(by, (1,)), (chosen,), made, read.the_output(operator))


def _rows_of_parts(
    draft: TfliteDraft, operator: TfliteOperator, stored: TensorType, numbers: str, rows: int
) -> str:
    """Returns [rows, parts, 1]: whether a part has the number of a row."""
    count = draft.types[numbers].elements
    if count > _MOST_PARTS:
        raise operator.fail(
            f"{count} parts that may have the same place are not supported, at most {_MOST_PARTS}",
            "give constant indices without duplicates, or fewer updates",
        )
    if stored.quant is not None or stored.dtype is DType.BOOL:
        raise operator.fail(
            f"parts of {stored.dtype.value} that may have the same place are not supported",
            "convert this part of the model as float",
        )
    of_row = _constant(draft, operator, np.arange(rows).reshape(rows, 1, 1), draft.types[numbers].dtype)
    apart = read.reshaped(draft, operator, numbers, (1, count, 1))
    return read.made(draft, operator, Compare(Relation.EQUAL), of_row, apart)


def _chosen(draft: TfliteDraft, operator: TfliteOperator, is_it: str, parts: str, other: float) -> str:
    """Returns [rows, parts, elements of a part]: the parts of each row; others have one value."""
    stored, count = draft.types[parts], draft.types[is_it].shape[1]
    flat = read.reshaped(draft, operator, parts, (1, count, stored.elements // count))
    array = np.full((1, 1, 1), other, stored.dtype.numpy)
    nothing = draft.add_value(f"{operator.label}/nothing", replace(stored, shape=(1, 1, 1)), array)
    return read.made(draft, operator, Select(), is_it, flat, nothing)


def _import_sparse_embedding(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports EMBEDDING_LOOKUP_SPARSE: sums of weighted rows of a table, perhaps divided by their weights."""
    ids, indices, weights, table = (
        read.operand(operator, number, what)
        for number, what in ((0, "the ids"), (1, "the indices"), (3, "the weights"), (4, "the table"))
    )
    shape = read.integers(draft, operator, 2, "the shape")[:-1]
    count, output = draft.types[ids].elements, read.the_output(operator)
    found = [draft.types[name].shape for name in (indices, weights)]
    if found != [(count, len(shape) + 1), (count,)]:
        raise operator.fail(f"indices and weights {found} do not fit {count} ids and shape {list(shape)}")
    for name in (ids, indices):
        _require_integers(draft, operator, name)
    operator.require_inside(draft.constants.get(ids), draft.types[table].shape[0])
    # The last index counts the lookups of one row, which only add up.
    flat = np.array([*dense_strides(shape), 0], np.int32).reshape(1, -1)
    scaled = read.made(draft, operator, Mul(), indices, _constant(draft, operator, flat))
    numbers = read.made(draft, operator, Reduce(Reduction.SUM, (1,)), scaled)
    numbers = _flat(draft, operator, numbers)
    factor = read.reshaped(draft, operator, weights, (count, 1))
    looked_up = read.made(draft, operator, Gather(0), table, ids)
    looked_up = read.reshaped(draft, operator, looked_up, (count, draft.types[looked_up].elements // count))
    rows = prod(shape)
    is_it = _rows_of_parts(draft, operator, draft.types[looked_up], numbers, rows)

    def summed(parts: str) -> str:
        chosen = _chosen(draft, operator, is_it, parts, 0)
        return read.made(draft, operator, Reduce(Reduction.SUM, (1,)), chosen)

    total = summed(read.made(draft, operator, Mul(), looked_up, factor))
    combiner = operator.options(tflite.EmbeddingLookupSparseOptions).Combiner()
    if combiner not in _DIVISORS:
        raise operator.fail(f"combiner number {combiner} is not known", CORRUPTED)
    if combiner != tflite.CombinerType.SUM:
        is_mean = combiner == tflite.CombinerType.MEAN
        divisor = summed(factor if is_mean else read.made(draft, operator, Mul(), factor, factor))
        if not is_mean:
            divisor = read.made(draft, operator, UnaryMath(MathFunction.SQRT), divisor)
        # A row without lookups stays 0.
        used = read.made(draft, operator, Reduce(Reduction.ANY, (1,)), is_it)
        one = draft.add_value(
            f"{operator.label}/one", TensorType(DType.F32, (1, 1, 1)), np.ones((1, 1, 1), np.float32)
        )
        divisor = read.made(draft, operator, Select(), used, divisor, one)
        total = read.made(draft, operator, Div(), total, divisor)
    draft.add_node(operator, Reshape(draft.types[output].shape), (total,), output)


_DIVISORS = (tflite.CombinerType.SUM, tflite.CombinerType.MEAN, tflite.CombinerType.SQRTN)


def _neutral(stored: TensorType, by: Reduction) -> float:
    """Returns what a segment without rows has."""
    low, high = (
        (float(np.finfo(np.float32).min), float(np.finfo(np.float32).max))
        if stored.dtype is DType.F32
        else stored.dtype.limits
    )
    return {Reduction.SUM: 0, Reduction.PRODUCT: 1, Reduction.MAXIMUM: low, Reduction.MINIMUM: high}[by]


def _flat(draft: TfliteDraft, operator: TfliteOperator, name: str) -> str:
    if name in draft.constants:
        return read.constant_like(draft, name, (draft.types[name].elements,))
    return read.reshaped(draft, operator, name, (draft.types[name].elements,))


def _constant(draft: TfliteDraft, operator: TfliteOperator, numbers: Array, dtype: DType = DType.I32) -> str:
    array = np.asarray(numbers).astype(dtype.numpy)
    return draft.add_value(f"{operator.label}/numbers", TensorType(dtype, array.shape), array)


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
