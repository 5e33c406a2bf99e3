"""TFLite_Detection_PostProcess, which decodes boxes and selects the best ones; NON_MAX_SUPPRESSION."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from aot.frontend.tflite.importers.rearranging import rearrange
from aot.frontend.tflite.operation import Importer, TfliteOperator, custom_options
from aot.ir.types import Array, DType, TensorType
from aot.ops.binary import Add, Mul, Sub
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.detect import Detect
from aot.ops.gather import Gather
from aot.ops.non_max_suppression import PLACE, NonMaxSuppression
from aot.ops.quantize import Dequantize
from aot.ops.rearrange import Loops
from aot.ops.reduce import ArgExtreme, Reduce, Reduction
from aot.ops.reshape import Reshape
from aot.ops.select import Select
from aot.ops.unary_math import MathFunction, UnaryMath

_SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")


def _import_detection(node: TfliteOperator) -> None:
    options = _options(node)
    boxes, scores, anchors = (
        node.operand(n, what) for n, what in enumerate(("boxes", "the scores", "the anchors"))
    )
    shapes = [node.tensor(name).shape for name in (boxes, scores, anchors)]
    classes, count = int(options["num_classes"]), int(options["max_detections"])
    _refuse_other_forms(node, options, shapes, classes)
    corners = _corners(node, boxes, anchors, [float(options[name]) for name in _SCALES])
    best, kinds = _best_classes(node, scores, classes)
    op = Detect(count, float(options["nms_score_threshold"]), float(options["nms_iou_threshold"]))
    flat = node.apply(op, *corners, best, kinds)
    first = 0
    for output, shape in zip(node.outputs, ((1, count, 4), (1, count), (1, count), (1,)), strict=True):
        # The file declares other shapes, or none: interpreters find them at run time.
        node.draft.types[output] = TensorType(DType.F32, shape)
        size = int(np.prod(shape))
        rearrange(node, flat, Loops((size,), (1,), first), output)
        first += size


def _options(node: TfliteOperator) -> Mapping[str, Any]:
    known = custom_options(node)
    wanted = ("num_classes", "max_detections", "nms_score_threshold", "nms_iou_threshold", *_SCALES)
    bad = [name for name in wanted if not isinstance(known.get(name), int | float)]
    if bad or any(not 0 < float(known[name]) < 1e9 for name in (*_SCALES, "num_classes", "max_detections")):
        raise node.fail(
            f"its options {', '.join(bad) or 'have values'} that are not positive numbers",
            "the file looks corrupted: get or convert it again",
        )
    return known


def _refuse_other_forms(
    node: TfliteOperator, options: Mapping[str, Any], shapes: list[tuple[int, ...]], classes: int
) -> None:
    if options.get("use_regular_nms"):
        raise node.fail(
            "non-maximum suppression for each class separately is not supported",
            "convert the model with use_regular_nms=False",
        )
    if options.get("max_classes_per_detection", 1) != 1:
        raise node.fail(
            f"{options['max_classes_per_detection']} classes for each detection are not supported",
            "convert the model with max_classes_per_detection=1",
        )
    boxes, scores, anchors = shapes
    fits = len(boxes) == len(scores) == 3 and boxes[0] == scores[0] == 1 and boxes[2] >= 4
    if not fits or anchors != (boxes[1], 4) or scores[1] != boxes[1] or scores[2] - classes not in (0, 1):
        raise node.fail(
            f"boxes {list(boxes)}, scores {list(scores)}, anchors {list(anchors)} "
            f"and {classes} classes do not fit"
        )
    if len(node.outputs) != 4:
        raise node.fail(f"it has {len(node.outputs)} outputs, not 4")


def _corners(node: TfliteOperator, boxes: str, anchors: str, scales: list[float]) -> tuple[str, ...]:
    """Returns top, left, bottom and right, each [1, boxes]."""
    count, width = node.tensor(boxes).shape[1:]
    y, x, h, w = (_column(node, boxes, count, width, n) for n in range(4))
    anchor = [_column(node, anchors, count, 4, n) for n in range(4)]
    shares = [_number(node, 1 / scale) for scale in scales]
    halves = []
    for size, scale, extent in ((h, shares[2], anchor[2]), (w, shares[3], anchor[3])):
        grown = node.apply(UnaryMath(MathFunction.EXP), node.apply(Mul(), size, scale))
        half = node.apply(Mul(), extent, _number(node, 0.5))
        halves.append(node.apply(Mul(), grown, half))
    centres = []
    for offset, scale, extent, origin in (
        (y, shares[0], anchor[2], anchor[0]),
        (x, shares[1], anchor[3], anchor[1]),
    ):
        moved = node.apply(Mul(), node.apply(Mul(), offset, scale), extent)
        centres.append(node.apply(Add(), moved, origin))
    spans = tuple(zip(centres, halves, strict=True))
    near, far = (tuple(node.apply(op, centre, half) for centre, half in spans) for op in (Sub(), Add()))
    return (*near, *far)


def _column(node: TfliteOperator, name: str, count: int, width: int, number: int) -> str:
    """Returns one number of each box as float."""
    tensor = node.tensor(name)
    column = node.value_like(f"{name}/column", tensor, (1, count))
    rearrange(node, name, Loops((1, count), (count * width, width), number), column)
    return _real(node, column)


def _best_classes(node: TfliteOperator, scores: str, classes: int) -> tuple[str, str]:
    """Returns the best score of each box and its class, each [1, boxes], without the background."""
    tensor = node.tensor(scores)
    _, count, stored = tensor.shape
    kept = scores
    if stored != classes:
        kept = node.value_like(f"{scores}/classes", tensor, (1, count, classes))
        loops = Loops((1, count, classes), (count * stored, stored, 1), stored - classes)
        rearrange(node, scores, loops, kept)
    best = node.value_like(f"{node.label}/best", tensor, (1, count, 1))
    node.add_node(Reduce(Reduction.MAXIMUM, (2,)), (kept,), best)
    place = node.add_value(f"{node.label}/class", TensorType(DType.I32, (1, count, 1)))
    node.add_node(ArgExtreme(Reduction.MAXIMUM, 2, DType.I32), (kept,), place)
    flat = node.reshaped(best, (1, count))
    return _real(node, flat), node.reshaped(place, (1, count))


def _real(node: TfliteOperator, name: str) -> str:
    tensor = node.tensor(name)
    if tensor.dtype is DType.F32:
        return name
    real = node.add_value(f"{name}/real", replace(tensor, dtype=DType.F32, quant=None))
    node.add_node(Dequantize(), (name,), real)
    return real


def _number(node: TfliteOperator, value: float) -> str:
    floats: Array = np.full((1, 1), value, np.float32)
    return node.add_value(f"{node.label}/number", TensorType(DType.F32, floats.shape), floats)


def _import_suppression(node: TfliteOperator) -> None:
    """Imports NON_MAX_SUPPRESSION_V4, and V5 without its soft form, which lowers scores instead."""
    boxes, scores = node.operand(0, "the boxes"), node.operand(1, "the scores")
    most = node.integer(2, "the number of results")
    overlap, least = (_threshold(node, number) for number in (3, 4))
    is_v5 = node.code.endswith("V5")
    if is_v5 and _threshold(node, 5) != 0:
        raise node.fail("a soft_nms_sigma other than 0 is not supported", "set it to 0")
    count = node.tensor(scores).elements
    each = min(most, count)
    if each < 1 or overlap <= 0:
        raise node.fail(f"it selects {most} of {count} boxes with an overlap below {overlap:g}")
    # LiteRT keeps scores above and overlaps below the limits; the op includes its limits.
    op = NonMaxSuppression(
        each,
        float(np.nextafter(least, np.float32(np.inf))),
        float(np.nextafter(min(overlap, np.float32(1)), np.float32(0))),
    )
    apart = node.reshaped(boxes, (1, count, 4))
    flat = node.apply(op, apart, node.reshaped(scores, (1, 1, count)))
    chosen, *others, valid = node.the_outputs(3 if is_v5 else 2)
    rearrange(node, flat, Loops((1,), (1,), each * PLACE), valid)
    numbers = node.add_value(f"{node.label}/numbers", TensorType(DType.I32, (each,)))
    rearrange(node, flat, Loops((each,), (PLACE,), PLACE - 1), numbers)
    _padded(node, numbers, chosen)
    for output in others:
        line = node.reshaped(scores, (count,))
        _padded(node, _valid_scores(node, line, numbers, valid), output)


def _threshold(node: TfliteOperator, number: int) -> Any:
    """Returns a float in single precision."""
    name = node.constant(number, "threshold")
    return np.float32(node.array(name).reshape(-1)[0])


def _valid_scores(node: TfliteOperator, scores: str, numbers: str, valid: str) -> str:
    """Returns the scores of the chosen boxes, and 0 after the last one."""
    each = node.tensor(numbers).elements
    picked = node.apply(Gather(0), scores, numbers)
    count = node.reshaped(valid, (1,))
    rows = node.add_value(
        f"{node.label}/rows", TensorType(DType.I32, (each,)), np.arange(each, dtype=np.int32)
    )
    nothing = node.add_value(f"{node.label}/none", TensorType(DType.F32, (1,)), np.zeros(1, np.float32))
    is_valid = node.apply(Compare(Relation.LESS), rows, count)
    return node.apply(Select(), is_valid, picked, nothing)


def _padded(node: TfliteOperator, x: str, output: str) -> None:
    """Sets the output to x with zeros after it, if there are fewer boxes than results."""
    stored, rows = node.tensor(x), node.tensor(output).elements
    if rows < stored.elements:
        raise node.fail(f"it selects {stored.elements} boxes, the file declares {rows}")
    if rows == stored.elements:
        node.reshaped_into(Reshape((rows,)), (x,), (rows,), output)
        return
    more = (rows - stored.elements,)
    zeros = node.add_value(
        f"{output}/unused", replace(stored, shape=more), np.zeros(more, stored.dtype.numpy)
    )
    node.reshaped_into(Concat(0), (x, zeros), (rows,), output)


DETECTION: dict[str, Importer] = {
    "CUSTOM TFLite_Detection_PostProcess": _import_detection,
    "NON_MAX_SUPPRESSION_V4": _import_suppression,
    "NON_MAX_SUPPRESSION_V5": _import_suppression,
}
