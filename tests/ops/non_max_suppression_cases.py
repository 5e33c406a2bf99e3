"""Non-maximum suppression: several batches and classes, fewer than asked for, none, corners and centres."""

from drawing import Draw
from op_case import OpCase, float32, op_case, plain

from aot.ir.types import DType
from aot.ops.non_max_suppression import NonMaxSuppression


def case(name: str, op: NonMaxSuppression, batches: int, classes: int, boxes: int) -> OpCase:
    given = [float32(batches, boxes, 4), float32(batches, classes, boxes)]
    return op_case(f"non_max_suppression_{name}", op, given, plain(DType.I32))


CASES = (
    case("two_batches", NonMaxSuppression(3, -1.0, 0.2), 2, 3, 9),
    case("gaps_between_classes", NonMaxSuppression(4, 0.9, 0.3), 2, 4, 5),
    case("one_of_each", NonMaxSuppression(1, -9.0, 0.5), 1, 4, 7),
    case("centres", NonMaxSuppression(5, -1.0, 0.0, centred=True), 1, 2, 12),
    case("none", NonMaxSuppression(2, 100.0, 0.5), 2, 2, 4),
    case("one_box", NonMaxSuppression(1, -9.0, 1.0), 1, 1, 1),
)


def _non_max_suppression(draw: Draw) -> OpCase:
    boxes = draw.upto(9)
    least, overlap, centred = draw.one_of(-9.0, 0.5), draw.one_of(0.0, 0.2, 1.0), draw.one_of(False, True)
    op = NonMaxSuppression(draw.upto(boxes), least, overlap, centred)
    return case("any", op, draw.upto(2), draw.upto(3), boxes)


SHAPES = {"non_max_suppression": _non_max_suppression}
