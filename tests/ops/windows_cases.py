"""Windows: rows that overlap, begin before the line, reach beyond it, leave pixels out."""

from drawing import Draw
from op_case import OpCase, float32, int8, int16, op_case

from aot.ir.types import TensorType
from aot.ops.windows import Windows


def case(name: str, op: Windows, x: TensorType) -> OpCase:
    return op_case(f"windows_{name}", op, [x], x)


CASES = (
    case("of_single_pixels", Windows(4, 5, 3, 1), int8(1, 12, 1, 5, zero_point=-7)),
    case("of_rows_like_them", Windows(3, 6, 4, 1), int8(1, 3, 4, 3, zero_point=9)),
    case("of_short_rows", Windows(2, 11, 6, 2), int8(1, 6, 2, 4, zero_point=-128)),
    case("far_before_and_beyond", Windows(3, 20, 4, 8), int8(1, 6, 2, 1, zero_point=3)),
    case("without_overlap", Windows(3, 2, 4), int8(1, 6, 2, 3)),
    case("one_pixel", Windows(5, 1, 1, 1), int8(1, 5, 1, 1, zero_point=1)),
    case("float32", Windows(3, 6, 4, 1), float32(1, 3, 4, 3)),
    case("int16", Windows(3, 6, 4, 1), int16(1, 3, 4, 3)),
)


def _windows(draw: Draw) -> OpCase:
    rows, step, length = draw.upto(5), draw.upto(6), draw.upto(8)
    x = int8(1, *draw.shape(3, 6), zero_point=draw.upto(127, -128))
    return op_case("windows", Windows(step, length, rows, draw.upto(3, 0)), [x], x)


SHAPES = {"windows": _windows}
