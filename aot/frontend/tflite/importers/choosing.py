"""Elements selected by comparing positions or values: ONE_HOT, TOPK_V2, BUCKETIZE, diagonals, WHERE."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.operation import Importer, TfliteOperator
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


def _import_one_hot(node: TfliteOperator) -> None:
    """Imports ONE_HOT: `on` at the position of each index along the new axis, `off` elsewhere."""
    indices, output = node.operand(0, "the indices"), node.the_output
    depth = node.integer(1, "depth")
    stored = node.tensor(indices)
    rank = stored.rank + 1
    axis = node.axis(node.options(tflite.OneHotOptions).Axis(), rank)
    apart = node.reshaped(indices, (*stored.shape[:axis], 1, *stored.shape[axis:]))
    along = [-1 if a == axis else 1 for a in range(rank)]
    places = _constant(node, np.arange(depth).reshape(along), stored.dtype)
    is_on = node.apply(Compare(Relation.EQUAL), apart, places)
    on, off = (
        node.reshaped(node.operand(number, f"the {what} value"), (1,) * rank)
        for number, what in ((2, "on"), (3, "off"))
    )
    node.add_node(Select(), (is_on, on, off), output)


def _import_top_k(node: TfliteOperator) -> None:
    """Imports TOPK_V2: the k largest elements of each row, and their positions; the first wins a tie."""
    x, k = node.operand(0, "the data"), node.integer(1, "k")
    values, places = node.the_outputs(2)
    shape = node.tensor(x).shape
    if not shape or not 0 < k <= shape[-1]:
        raise node.fail(f"it requests the {k} largest of {shape[-1] if shape else 1} elements")
    if shape[-1] <= _FEW or (k > _MOST_PASSES and shape[-1] <= _MOST_COMPARED):
        _by_ranks(node, x, k, values, places)
    elif k <= _MOST_PASSES:
        _in_passes(node, x, k, values, places)
    else:
        raise node.fail(
            f"the {k} largest of {shape[-1]} are not supported",
            f"supported: k up to {_MOST_PASSES}, or rows of up to {_MOST_COMPARED} elements",
        )


def _by_ranks(node: TfliteOperator, x: str, k: int, values: str, places: str) -> None:
    """Ranks each element by the number of elements before it: larger ones, and equal earlier ones."""
    *rows, size = node.tensor(x).shape
    each = node.reshaped(x, (*rows, size, 1))
    other = node.reshaped(x, (*rows, 1, size))
    is_nearer = np.arange(size) < np.arange(size)[:, np.newaxis]
    nearer = _constant(node, is_nearer.reshape((*(1 for _ in rows), size, size)), DType.BOOL)
    equal = node.apply(Compare(Relation.EQUAL), other, each)
    equal = node.apply(Combine(Combination.AND), equal, nearer)
    larger = node.apply(Compare(Relation.GREATER), other, each)
    before = node.apply(Combine(Combination.OR), larger, equal)
    counted = node.apply(Convert(DType.I32), before)
    ranks = node.apply(Reduce(Reduction.SUM, (len(rows) + 1,)), counted)
    ranks = node.reshaped(ranks, (*rows, 1, size))
    wanted = np.arange(k).reshape((*(1 for _ in rows), k, 1))
    is_it = node.apply(Compare(Relation.EQUAL), ranks, _constant(node, wanted, DType.I32))
    for picked, nothing, output in (
        (other, _least(node, x, len(rows) + 2), values),
        (_numbers(node, size, len(rows) + 2), _constant(node, 0, DType.I32), places),
    ):
        nothing = node.constant_like(nothing, (1,) * (len(rows) + 2))
        chosen = node.value_like(f"{output}/chosen", node.tensor(picked), (*rows, k, size))
        node.add_node(Select(), (is_it, picked, nothing), chosen)
        by = Reduce(Reduction.MAXIMUM, (len(rows) + 1,))
        node.reshaped_into(by, (chosen,), (*rows, k, 1), output)


def _in_passes(node: TfliteOperator, x: str, k: int, values: str, places: str) -> None:
    """Finds the largest, then the largest of the rest: smaller, or equal and at a later position."""
    stored = node.tensor(x)
    last = stored.rank - 1
    numbers = _numbers(node, stored.shape[-1], stored.rank)
    beyond = _constant(node, np.full((1,) * stored.rank, stored.shape[-1]), DType.I32)
    least = _least(node, x, stored.rank)
    largest, first = Reduce(Reduction.MAXIMUM, (last,)), Reduce(Reduction.MINIMUM, (last,))
    left, found, found_at = x, [], []
    may_be: str | None = None  # mask of the elements after the previous result
    for _ in range(k):
        value = node.value_like(f"{values}/next", stored, (*stored.shape[:-1], 1))
        node.add_node(largest, (left,), value)
        equal = node.apply(Compare(Relation.EQUAL), x, value)
        is_it = equal if may_be is None else node.apply(Combine(Combination.AND), equal, may_be)
        place = node.apply(first, node.apply(Select(), is_it, numbers, beyond))
        found.append(value)
        found_at.append(place)
        further = node.apply(Compare(Relation.GREATER), numbers, place)
        further = node.apply(Combine(Combination.AND), equal, further)
        smaller = node.apply(Compare(Relation.LESS), x, value)
        may_be = node.apply(Combine(Combination.OR), smaller, further)
        left = node.value_like(f"{values}/left", stored, stored.shape)
        node.add_node(Select(), (may_be, x, least), left)
    node.add_node(Concat(last), found, values)
    node.add_node(Concat(last), found_at, places)


def _numbers(node: TfliteOperator, size: int, rank: int) -> str:
    return _constant(node, np.arange(size).reshape((*(1 for _ in range(rank - 1)), size)), DType.I32)


def _least(node: TfliteOperator, x: str, rank: int) -> str:
    """Returns the smallest number of x's type, in its quantization."""
    stored = node.tensor(x)
    number = -np.inf if stored.dtype is DType.F32 else stored.dtype.limits[0]
    array = np.full((1,) * rank, number, stored.dtype.numpy)
    return node.add_value(f"{node.label}/least", replace(stored, shape=array.shape), array)


def _constant(node: TfliteOperator, numbers: Array | int, dtype: DType) -> str:
    array = np.asarray(numbers).astype(dtype.numpy)
    return node.add_value(f"{node.label}/constant", TensorType(dtype, array.shape), array)


def _import_bucketize(node: TfliteOperator) -> None:
    """Imports BUCKETIZE: the number of boundaries that are not above each element."""
    x = node.operand(0, "the data")
    options = node.options(tflite.BucketizeOptions)
    listed = () if options.BoundariesIsNone() else options.BoundariesAsNumpy()
    limits: Array = np.asarray(listed, np.float32)
    stored = node.tensor(x)
    if stored.dtype is not DType.F32 or not len(limits):
        raise node.fail(f"{len(limits)} boundaries of {stored.dtype.value} are not supported; f32 is")
    each = node.reshaped(x, (*stored.shape, 1))
    ranked = limits.reshape((*(1 for _ in stored.shape), -1))
    is_above = node.apply(Compare(Relation.GREATER_EQUAL), each, _constant(node, ranked, DType.F32))
    counted = node.apply(Convert(DType.I32), is_above)
    total = Reduce(Reduction.SUM, (stored.rank,))
    node.reshaped_into(total, (counted,), (*stored.shape, 1), node.the_output)


def _import_diagonal(node: TfliteOperator) -> None:
    """Imports MATRIX_DIAG, whose other elements are 0, and MATRIX_SET_DIAG, which keeps those of a matrix."""
    output = node.the_output
    shape = node.tensor(output).shape
    *rows, width = shape[:-1] or (0,)
    diagonal, matrix = node.operand(len(node.inputs) - 1, "the diagonal"), (*rows, width, width)
    if shape != matrix or node.tensor(diagonal).shape != (*rows, width):
        raise node.fail(
            f"a diagonal {list(node.tensor(diagonal).shape)} does not fit {list(shape)}: square matrices "
            "are supported"
        )
    is_on = _constant(node, np.eye(width).reshape((*(1 for _ in rows), width, width)), DType.BOOL)
    along = node.reshaped(diagonal, (*rows, 1, width))
    if node.code == "MATRIX_SET_DIAG":
        others = node.operand(0, "the matrix")
        if node.tensor(others).shape != shape:
            raise node.fail(f"a matrix {list(node.tensor(others).shape)} does not fit {list(shape)}")
    else:
        zero = replace(node.tensor(diagonal), shape=(1,) * (len(rows) + 2))
        others = node.add_value(f"{node.label}/zero", zero, np.zeros(zero.shape, zero.dtype.numpy))
    node.add_node(Select(), (is_on, along, others), output)


def _import_where(node: TfliteOperator) -> None:
    """Imports WHERE: the places of elements that are true, if they are known."""
    condition = _known(node, "true elements", "use tf.where(condition, a, b), which has one size")
    places = np.argwhere(condition)
    _require_size(node, places)
    node.set_constant(node.the_output, places.astype(np.int64))


def _import_unique(node: TfliteOperator) -> None:
    """Imports UNIQUE: distinct elements as they first occur and the number of each element, if known."""
    data = _known(node, "distinct elements", "compute it before the model, or compare all pairs")
    found, firsts, kinds = np.unique(data.reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    values, numbers = node.the_outputs(2)
    _require_size(node, found)
    node.set_constant(values, found[order])
    node.set_constant(numbers, np.argsort(order)[kinds].astype(node.tensor(numbers).dtype.numpy))


def _known(node: TfliteOperator, what: str, hint: str) -> Array:
    """Returns the first operand's elements. Raises ModelError if a run computes them."""
    array = node.draft.known(node.operand(0, "the data"))
    if array is None:
        raise node.fail(
            f"the number of {what} is the size of its result, and it depends on the input: "
            "all sizes must be known at compile time",
            hint,
        )
    return array


def _require_size(node: TfliteOperator, array: Array) -> None:
    declared = node.tensor(node.outputs[0]).shape
    if array.shape != declared or not array.size:
        raise node.fail(
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
