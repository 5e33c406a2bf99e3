"""The largest elements, and elements selected by a condition known at compile time."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.moving import concatenated
from aot.frontend.onnx.importers.reductions import extremes_of, reduced
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ops.detect import CORNERS
from aot.ops.non_max_suppression import PLACE, NonMaxSuppression
from aot.ops.reduce import Reduction

_MOST_COMPARED = 256  # along the dimension, if each element is compared with each
_FEW_COMPARED = 64  # up to this many elements, comparing is always cheaper than one pass per result
_MOST_TURNS = 64  # results, if they are searched one after the other


def _top_k(node: OnnxOperator) -> Results:
    """Imports TopK. An element's rank is the number of larger elements, plus equal ones before it."""
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.axis(node.integer("axis", -1), len(shape))
    size, k = shape[axis], _count(node)
    if not 0 < k <= size:
        raise node.fail(f"it requests the first {k} of {size} elements")
    order = [*(a for a in range(len(shape)) if a != axis), axis]
    rows = node.do("Transpose", x, perm=order)
    if size <= _FEW_COMPARED or (k > _MOST_TURNS and size <= _MOST_COMPARED):
        places = _places(node, rows, size, k)
    elif k <= _MOST_TURNS:
        places = _places_in_turns(node, rows, size, k)
    else:
        raise node.fail(
            f"the first {k} of {size} are not supported: at most the first {_MOST_TURNS}, or all of up to "
            f"{_MOST_COMPARED}"
        )
    values = node.do("GatherElements", rows, places, axis=-1)
    back = [order.index(a) for a in range(len(shape))]
    return [node.do("Transpose", value, perm=back) for value in (values, places)]


def _places_in_turns(node: OnnxOperator, rows: Value, size: int, k: int) -> Value:
    """Finds the largest, then the largest of the rest: smaller, or equal and at a later position."""
    largest = node.integer("largest", 1)
    extreme, further = ("ReduceMax", "Less") if largest else ("ReduceMin", "Greater")
    numbers = node.number(np.arange(size), TensorProto.INT64)
    beyond = node.number(size, TensorProto.INT64)
    places: list[Value] = []
    value, left = node.do(extreme, rows, axes=[-1]), None
    while True:
        is_it = node.do("Equal", rows, value)
        is_it = is_it if left is None else node.do("And", is_it, left)
        place = node.do("ReduceMin", node.do("Where", is_it, numbers, beyond), axes=[-1])
        places.append(place)
        if len(places) == k:
            return concatenated(node, places, len(node.shape(rows)) - 1)
        behind = node.do("And", node.do("Equal", rows, value), node.do("Greater", numbers, place))
        left = node.do("Or", node.do(further, rows, value), behind)
        value = node.do(extreme, node.do("Where", left, rows, _least(node, rows, largest)), axes=[-1])


def _least(node: OnnxOperator, rows: Value, largest: int) -> Value:
    """Returns the number that is chosen only after all remaining ones."""
    least, most = extremes_of(node, rows)
    return node.number(least if largest else most, rows.element)


def _count(node: OnnxOperator) -> int:
    return int(node.known_scalar(1, "count")) if node.has(1) else node.integer("k")


def _places(node: OnnxOperator, rows: Value, size: int, k: int) -> Value:
    """Returns the positions of the first, the second, ... of k in each row."""
    rank = len(node.shape(rows))
    each = node.do("Unsqueeze", rows, node.number([rank], TensorProto.INT64))
    other = node.do("Unsqueeze", rows, node.number([rank - 1], TensorProto.INT64))
    relation = "Greater" if node.integer("largest", 1) else "Less"
    nearer = node.number(np.arange(size) < np.arange(size)[:, np.newaxis], TensorProto.BOOL)
    equal_before = node.do("And", node.do("Equal", other, each), nearer)
    before = node.do("Or", node.do(relation, other, each), equal_before)
    counts = reduced(node, node.do("Cast", before, to=TensorProto.INT32), Reduction.SUM, (rank,))
    ranks = node.do("Transpose", counts, perm=[*range(rank - 1), rank, rank - 1])
    numbers = node.number(np.arange(k)[:, np.newaxis], TensorProto.INT32)
    columns = node.number(np.arange(size), TensorProto.INT64)
    nothing = node.number(0, TensorProto.INT64)
    chosen = node.do("Where", node.do("Equal", ranks, numbers), columns, nothing)
    found = reduced(node, chosen, Reduction.SUM, (rank,))
    return node.do("Squeeze", found, node.number([rank], TensorProto.INT64))


def _compress(node: OnnxOperator) -> Value:
    """Selects elements; their number must be known."""
    x = node.operand(0)
    kept = np.nonzero(node.known(1, "condition").reshape(-1))[0]
    if not node.has_attribute("axis"):
        x = node.do("Reshape", x, node.number([-1], TensorProto.INT64))
    axis = node.axis(node.integer("axis", 0), len(x.order))
    kept = kept[kept < node.shape(x)[axis]]
    return node.do("Gather", x, node.number(kept, TensorProto.INT64), axis=axis)


def _non_zero(node: OnnxOperator) -> Value:
    """Returns the positions of elements that are not 0; their number must be known."""
    return node.number(np.stack(np.nonzero(node.known(0, "data"))), TensorProto.INT64)


def _unique(node: OnnxOperator) -> Results:
    """Imports Unique: distinct elements, their first positions, their index by element, and counts.

    The data must be known, because the number of distinct elements is a size.
    """
    x = node.operand(0)
    if node.has_attribute("axis"):
        axis = node.axis(node.integer("axis"), len(x.order))
    else:
        x, axis = node.do("Reshape", x, node.number([-1], TensorProto.INT64)), 0
    rows = np.moveaxis(node.known_value(x, "data"), axis, 0)
    rows = rows.reshape(len(rows), prod(rows.shape[1:]))
    _, firsts, kinds, counts = np.unique(
        rows, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.arange(len(firsts)) if node.integer("sorted", 1) else np.argsort(firsts)
    places = node.number(firsts[order], TensorProto.INT64)
    told = (np.argsort(order)[kinds.reshape(-1)], counts[order])
    others = (node.number(numbers, TensorProto.INT64) for numbers in told)
    return [node.do("Gather", x, places, axis=axis), places, *others]


CHOOSING: Mapping[str, Importer] = {
    "Compress": _compress,
    "NonZero": _non_zero,
    "TopK": _top_k,
    "Unique": _unique,
}


# NonMaxSuppression: returns the maximal number of rows, and the number of valid ones.


_LEAST = float(np.finfo(np.float32).min)


def _non_max_suppression(node: OnnxOperator) -> Value:
    boxes, scores = node.operand(0), node.operand(1)
    sizes, scored = node.shape(boxes), node.shape(scores)
    if len(sizes) != 3 or len(scored) != 3 or sizes != (scored[0], scored[2], CORNERS):
        raise node.fail(f"boxes {list(sizes)} and scores {list(scored)} do not fit")
    most = int(node.known_scalar(2, "max_output_boxes_per_class")) if node.has(2) else 0
    each = min(max(0, most), sizes[1])
    if each == 0 or 0 in scored:
        return node.number(np.zeros((0, PLACE)), TensorProto.INT64)
    op = NonMaxSuppression(
        each,
        _least_score(node),
        node.known_scalar(3, "iou_threshold") if node.has(3) else 0.0,
        bool(node.integer("center_point_box", 0)),
    )
    listed = node.value(node.apply(op, node.plain(boxes), node.plain(scores)), TensorProto.INT32)
    rows, end = op.rows(scored), op.rows(scored) * PLACE
    places = node.reshaped(node.sliced(listed.name, 0, range(end)), (rows, PLACE))
    count = node.sliced(listed.name, 0, range(end, end + 1))
    found = cast(node, node.value(places, TensorProto.INT32), TensorProto.INT64)
    node.draft.counts.begin(found.name, node.proto.output[0], node.value(count, TensorProto.INT32))
    return found


def _least_score(node: OnnxOperator) -> float:
    """Returns the smallest accepted score: the standard requires more than its threshold."""
    if not node.has(4):
        return _LEAST
    threshold = np.float32(node.known_scalar(4, "score_threshold"))
    return float(max(np.nextafter(threshold, np.float32(np.inf)), np.float32(_LEAST)))


SUPPRESSING: Mapping[str, Importer] = {"NonMaxSuppression": _non_max_suppression}
