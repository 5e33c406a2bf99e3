"""Blobs: many and few, several classes, more than there is room for, none, a single cell."""

from drawing import Draw
from op_case import OpCase, float32, op_case

from aot.ops.blobs import Blobs


def case(name: str, op: Blobs, rows: int, columns: int, classes: int) -> OpCase:
    """A grid of scores; the first class is the background."""
    return op_case(f"blobs_{name}", op, [float32(1, rows, columns, classes)], float32())


CASES = (
    case("some", Blobs(9, 1.5), 7, 6, 3),
    case("that_join", Blobs(8, 0.6), 8, 8, 3),
    case("more_than_room", Blobs(2, 1.0), 9, 5, 3),
    case("none", Blobs(3, 100.0), 4, 4, 2),
    case("one_cell", Blobs(1, -9.0), 1, 1, 2),
    case("everywhere", Blobs(4, -9.0), 3, 5, 2),
)


def _blobs(draw: Draw) -> OpCase:
    op = Blobs(draw.upto(6), draw.one_of(-9.0, 0.0, 1.0))
    return case("any", op, draw.upto(5), draw.upto(5), 1 + draw.upto(3))


SHAPES = {"blobs": _blobs}
