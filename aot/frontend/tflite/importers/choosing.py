"""Elements selected by comparing positions or values: ONE_HOT, TOPK_V2, BUCKETIZE, diagonals, WHERE."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.types import Array, DType, TensorType
from aot.ops.combine import Combination, Combine
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.convert import Convert
from aot.ops.reduce import Reduce, Reduction
from aot.ops.select import Select

_FEW = 64  # elements of a row, up to which comparing all pairs is cheaper than one pass per result
_MOST_COMPARED = 256  # elements of a row, if all pairs are compared
_MOST_PASSES = 64  # results in longer rows, found one after the other


def _import_one_hot(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports ONE_HOT: `on` at the position of each index along the new axis, `off` elsewhere."""
    indices, output = read.operand(operator, 0, "the indices"), read.the_output(operator)
    depth = read.integer(draft, operator, 1, "depth")
    stored = draft.types[indices]
    rank = stored.rank + 1
    axis = read.axis(operator, operator.options(tflite.OneHotOptions).Axis(), rank)
    apart = read.reshaped(draft, operator, indices, (*stored.shape[:axis], 1, *stored.shape[axis:]))
    along = [-1 if a == axis else 1 for a in range(rank)]
    places = _constant(draft, operator, np.arange(depth).reshape(along), stored.dtype)
    is_on = read.made(draft, operator, Compare(Relation.EQUAL), apart, places)
    on, off = (
        read.reshaped(draft, operator, read.operand(operator, number, f"the {what} value"), (1,) * rank)
        for number, what in ((2, "on"), (3, "off"))
    )
    draft.add_node(operator, Select(), (is_on, on, off), output)


def _import_top_k(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports TOPK_V2: the k largest elements of each row, and their positions; the first wins a tie."""
    x, k = read.operand(operator, 0, "the data"), read.integer(draft, operator, 1, "k")
    values, places = read.outputs(operator, 2)
    shape = draft.types[x].shape
    if not shape or not 0 < k <= shape[-1]:
        raise operator.fail(f"it requests the {k} largest of {shape[-1] if shape else 1} elements")
    if shape[-1] <= _FEW or (k > _MOST_PASSES and shape[-1] <= _MOST_COMPARED):
        _by_ranks(draft, operator, x, k, values, places)
    elif k <= _MOST_PASSES:
        _in_passes(draft, operator, x, k, values, places)
    else:
        raise operator.fail(
            f"the {k} largest of {shape[-1]} are not supported",
            f"supported: k up to {_MOST_PASSES}, or rows of up to {_MOST_COMPARED} elements",
        )


def _by_ranks(draft: TfliteDraft, operator: TfliteOperator, x: str, k: int, values: str, places: str) -> None:
    """Ranks each element by the number of elements before it: larger ones, and equal earlier ones."""
    *rows, size = draft.types[x].shape
    each = read.reshaped(draft, operator, x, (*rows, size, 1))
    other = read.reshaped(draft, operator, x, (*rows, 1, size))
    is_nearer = np.arange(size) < np.arange(size)[:, np.newaxis]
    nearer = _constant(draft, operator, is_nearer.reshape((*(1 for _ in rows), size, size)), DType.BOOL)
    equal = read.made(draft, operator, Compare(Relation.EQUAL), other, each)
    equal = read.made(draft, operator, Combine(Combination.AND), equal, nearer)
    larger = read.made(draft, operator, Compare(Relation.GREATER), other, each)
    before = read.made(draft, operator, Combine(Combination.OR), larger, equal)
    counted = read.made(draft, operator, Convert(DType.I32), before)
    ranks = read.made(draft, operator, Reduce(Reduction.SUM, (len(rows) + 1,)), counted)
    ranks = read.reshaped(draft, operator, ranks, (*rows, 1, size))
    wanted = np.arange(k).reshape((*(1 for _ in rows), k, 1))
    is_it = read.made(
        draft, operator, Compare(Relation.EQUAL), ranks, _constant(draft, operator, wanted, DType.I32)
    )
    for picked, nothing, output in (
        (other, _least(draft, operator, x, len(rows) + 2), values),
        (_numbers(draft, operator, size, len(rows) + 2), _constant(draft, operator, 0, DType.I32), places),
    ):
        nothing = read.constant_like(draft, nothing, (1,) * (len(rows) + 2))
        chosen = read.value_like(draft, f"{output}/chosen", draft.types[picked], (*rows, k, size))
        draft.add_node(operator, Select(), (is_it, picked, nothing), chosen)
        by = Reduce(Reduction.MAXIMUM, (len(rows) + 1,))
        read.reshaped_into(draft, operator, by, (chosen,), (*rows, k, 1), output)


def _in_passes(
    draft: TfliteDraft, operator: TfliteOperator, x: str, k: int, values: str, places: str
) -> None:
    """Finds the largest, then the largest of the rest: smaller, or equal and at a later position."""
    stored = draft.types[x]
    last = stored.rank - 1
    numbers = _numbers(draft, operator, stored.shape[-1], stored.rank)
    beyond = _constant(draft, operator, np.full((1,) * stored.rank, stored.shape[-1]), DType.I32)
    least = _least(draft, operator, x, stored.rank)
    largest, first = Reduce(Reduction.MAXIMUM, (last,)), Reduce(Reduction.MINIMUM, (last,))
    left, found, found_at = x, [], []
    may_be: str | None = None  # mask of the elements after the previous result
    for _ in range(k):
        value = read.value_like(draft, f"{values}/next", stored, (*stored.shape[:-1], 1))
        draft.add_node(operator, largest, (left,), value)
        equal = read.made(draft, operator, Compare(Relation.EQUAL), x, value)
        is_it = (
            equal if may_be is None else read.made(draft, operator, Combine(Combination.AND), equal, may_be)
        )
        place = read.made(
            draft, operator, first, read.made(draft, operator, Select(), is_it, numbers, beyond)
        )
        found.append(value)
        found_at.append(place)
        further = read.made(draft, operator, Compare(Relation.GREATER), numbers, place)
        further = read.made(draft, operator, Combine(Combination.AND), equal, further)
        smaller = read.made(draft, operator, Compare(Relation.LESS), x, value)
        may_be = read.made(draft, operator, Combine(Combination.OR), smaller, further)
        left = read.value_like(draft, f"{values}/left", stored, stored.shape)
        draft.add_node(operator, Select(), (may_be, x, least), left)
    draft.add_node(operator, Concat(last), found, values)
    draft.add_node(operator, Concat(last), found_at, places)


def _numbers(draft: TfliteDraft, operator: TfliteOperator, size: int, rank: int) -> str:
    return _constant(
        draft, operator, np.arange(size).reshape((*(1 for _ in range(rank - 1)), size)), DType.I32
    )


def _least(draft: TfliteDraft, operator: TfliteOperator, x: str, rank: int) -> str:
    """Returns the smallest number of x's type, in its quantization."""
    stored = draft.types[x]
    number = -np.inf if stored.dtype is DType.F32 else stored.dtype.limits[0]
    array = np.full((1,) * rank, number, stored.dtype.numpy)
    return draft.add_value(f"{operator.label}/least", replace(stored, shape=array.shape), array)


def _constant(draft: TfliteDraft, operator: TfliteOperator, numbers: Array | int, dtype: DType) -> str:
    array = np.asarray(numbers).astype(dtype.numpy)
    return draft.add_value(f"{operator.label}/constant", TensorType(dtype, array.shape), array)


def _import_bucketize(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports BUCKETIZE: the number of boundaries that are not above each element."""
    x = read.operand(operator, 0, "the data")
    options = operator.options(tflite.BucketizeOptions)
    listed = () if options.BoundariesIsNone() else options.BoundariesAsNumpy()
    limits: Array = np.asarray(listed, np.float32)
    stored = draft.types[x]
    if stored.dtype is not DType.F32 or not len(limits):
        raise operator.fail(f"{len(limits)} boundaries of {stored.dtype.value} are not supported; f32 is")
    each = read.reshaped(draft, operator, x, (*stored.shape, 1))
    ranked = limits.reshape((*(1 for _ in stored.shape), -1))
    is_above = read.made(
        draft, operator, Compare(Relation.GREATER_EQUAL), each, _constant(draft, operator, ranked, DType.F32)
    )
    counted = read.made(draft, operator, Convert(DType.I32), is_above)
    total = Reduce(Reduction.SUM, (stored.rank,))
    read.reshaped_into(draft, operator, total, (counted,), (*stored.shape, 1), read.the_output(operator))


def _import_diagonal(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports MATRIX_DIAG, whose other elements are 0, and MATRIX_SET_DIAG, which keeps those of a matrix."""
    output = read.the_output(operator)
    shape = draft.types[output].shape
    *rows, width = shape[:-1] or (0,)
    diagonal, matrix = read.operand(operator, len(operator.inputs) - 1, "the diagonal"), (*rows, width, width)
    if shape != matrix or draft.types[diagonal].shape != (*rows, width):
        raise operator.fail(
            f"a diagonal {list(draft.types[diagonal].shape)} does not fit {list(shape)}: square matrices "
            "are supported"
        )
    is_on = _constant(draft, operator, np.eye(width).reshape((*(1 for _ in rows), width, width)), DType.BOOL)
    along = read.reshaped(draft, operator, diagonal, (*rows, 1, width))
    if operator.code == "MATRIX_SET_DIAG":
        others = read.operand(operator, 0, "the matrix")
        if draft.types[others].shape != shape:
            raise operator.fail(f"a matrix {list(draft.types[others].shape)} does not fit {list(shape)}")
    else:
        zero = replace(draft.types[diagonal], shape=(1,) * (len(rows) + 2))
        others = draft.add_value(f"{operator.label}/zero", zero, np.zeros(zero.shape, zero.dtype.numpy))
    draft.add_node(operator, Select(), (is_on, along, others), output)


def _import_where(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports WHERE: the places of elements that are true, if they are known."""
    condition = _known(draft, operator, "true elements", "use tf.where(condition, a, b), which has one size")
    places = np.argwhere(condition)
    _require_size(draft, operator, places)
    draft.set_constant(operator, read.the_output(operator), places.astype(np.int64))


def _import_unique(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports UNIQUE: distinct elements as they first occur and the number of each element, if known."""
    data = _known(draft, operator, "distinct elements", "compute it before the model, or compare all pairs")
    found, firsts, kinds = np.unique(data.reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    values, numbers = read.outputs(operator, 2)
    _require_size(draft, operator, found)
    draft.set_constant(operator, values, found[order])
    draft.set_constant(operator, numbers, np.argsort(order)[kinds].astype(draft.types[numbers].dtype.numpy))


def _known(draft: TfliteDraft, operator: TfliteOperator, what: str, hint: str) -> Array:
    """Returns the first operand's elements. Raises ModelError if a run computes them."""
    array = draft.known(read.operand(operator, 0, "the data"))
    if array is None:
        raise operator.fail(
            f"the number of {what} is the size of its result, and it depends on the input: "
            "all sizes must be known at compile time",
            hint,
        )
    return array


def _require_size(draft: TfliteDraft, operator: TfliteOperator, array: Array) -> None:
    declared = draft.types[operator.outputs[0]].shape
    if array.shape != declared or not array.size:
        raise operator.fail(
            f"it makes shape {list(array.shape)}, the file declares {list(declared)}",
            "models need static shapes: convert with a fixed input shape",
        )


CHOOSING: dict[str, Importer] = {
    "BUCKETIZE": _import_bucketize,
    "MATRIX_DIAG": _import_diagonal,
    "MATRIX_SET_DIAG": _import_diagonal,
    "ONE_HOT": _import_one_hot,
    "TOPK_V2": _import_top_k,
    "UNIQUE": _import_unique,
    "WHERE": _import_where,
}
