"""SCATTER_ND, SPARSE_TO_DENSE and sums of segments: elements put where indices point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.strides import dense_strides
from aot.ir.types import Array, DType, TensorType
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.gather import Gather
from aot.ops.reduce import Reduce, Reduction
from aot.ops.select import Select

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
    stored, count = draft.types[parts], draft.types[numbers].elements
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
    each = stored.elements // count
    flat = read.reshaped(draft, operator, parts, (1, count, each))
    of_row = _constant(draft, operator, np.arange(rows).reshape(rows, 1, 1), draft.types[numbers].dtype)
    apart = read.reshaped(draft, operator, numbers, (1, count, 1))
    is_it = read.made(draft, operator, Compare(Relation.EQUAL), of_row, apart)
    neutral = np.full((1, 1, 1), _neutral(stored, by), stored.dtype.numpy)
    nothing = draft.add_value(f"{operator.label}/nothing", replace(stored, shape=(1, 1, 1)), neutral)
    chosen = read.made(draft, operator, Select(), is_it, flat, nothing)
    output = read.the_output(operator)
    read.reshaped_into(draft, operator, Reduce(by, (1,)), (chosen,), (rows, 1, each), output)


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
    "SCATTER_ND": _import_scatter_nd,
    "SEGMENT_SUM": _import_segments(Reduction.SUM),
    "SPARSE_TO_DENSE": _import_sparse_to_dense,
    "UNSORTED_SEGMENT_MAX": _import_segments(Reduction.MAXIMUM),
    "UNSORTED_SEGMENT_MIN": _import_segments(Reduction.MINIMUM),
    "UNSORTED_SEGMENT_PROD": _import_segments(Reduction.PRODUCT),
    "UNSORTED_SEGMENT_SUM": _import_segments(Reduction.SUM),
}
