"""NonMaxSuppression: returns the maximal number of rows, and the number of valid ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ops.detect import CORNERS
from aot.ops.non_max_suppression import PLACE, NonMaxSuppression

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
        _least(node),
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


def _least(node: OnnxOperator) -> float:
    """Returns the smallest accepted score: the standard requires more than its threshold."""
    if not node.has(4):
        return _LEAST
    threshold = np.float32(node.known_scalar(4, "score_threshold"))
    return float(max(np.nextafter(threshold, np.float32(np.inf)), np.float32(_LEAST)))


SUPPRESSING: Mapping[str, Importer] = {"NonMaxSuppression": _non_max_suppression}
