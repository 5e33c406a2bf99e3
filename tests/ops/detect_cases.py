"""Detections: boxes that overlap, fewer than asked for, none above the least score."""

from drawing import Draw
from op_case import OpCase, float32, op_case

from aot.ir.types import DType, TensorType
from aot.ops.detect import Detect


def case(name: str, op: Detect, boxes: int, classes: int = 0) -> OpCase:
    """Boxes with a class each, or with a score for each of some classes."""
    corners = [float32(1, boxes)] * 4
    if classes:
        return op_case(f"detect_{name}", op, [*corners, float32(1, boxes, classes)], float32())
    kinds = TensorType(DType.I32, (1, boxes))
    return op_case(f"detect_{name}", op, [*corners, float32(1, boxes), kinds], float32())


CASES = (
    case("three", Detect(3, -1.0, 0.3), 20),
    case("fewer_than_asked_for", Detect(9, 0.5, 0.2), 7),
    case("none", Detect(2, 100.0, 0.5), 5),
    case("one_box", Detect(1, -9.0, 1.0), 1),
    case("by_class", Detect(6, -1.0, 0.1, by_class=True), 16),
    case("each_class_scored", Detect(5, -1.0, 0.1), 9, classes=3),
    case("each_class_by_itself", Detect(8, -1.0, 0.1, by_class=True), 9, classes=3),
    case("one_class_scored", Detect(4, -1.0, 0.2, by_class=True), 11, classes=1),
)


def _detect(draw: Draw) -> OpCase:
    op = Detect(
        draw.upto(6), draw.one_of(-9.0, 0.0), draw.one_of(0.2, 1.0), by_class=draw.one_of(False, True)
    )
    return case("any", op, draw.upto(20), classes=draw.one_of(0, draw.upto(3)))


SHAPES = {"detect": _detect}
