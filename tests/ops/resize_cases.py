"""Images resized: larger, smaller, with corners or centres aligned, batches, a single pixel."""

from op_case import OpCase, float32, int8, op_case, wide

from aot.ir.types import TensorType
from aot.ops.resize import Resize


def case(name: str, op: Resize, x: TensorType) -> OpCase:
    return op_case(f"resize_{name}", op, [x], x)


CASES = (
    case("larger", Resize((7, 9)), int8(1, 3, 4, 2, zero_point=5)),
    case("smaller", Resize((2, 3)), int8(1, 5, 7, 3)),
    case("corners", Resize((5, 8), align_corners=True), int8(1, 3, 3, 1)),
    case("corners_to_one", Resize((1, 1), align_corners=True), int8(1, 3, 3, 2)),
    case("centres", Resize((6, 5), half_pixels=True), int8(2, 3, 4, 2)),
    case("written_out", Resize((5, 7), half_pixels=True), int8(1, 2, 3, 8, zero_point=-128)),
    case("of_one", Resize((3, 2)), int8(1, 1, 1, 4)),
    case("unsigned", Resize((5, 9), half_pixels=True, is_unsigned=True), int8(2, 3, 4, 2)),
    case("unsigned_corners", Resize((5, 3), align_corners=True, is_unsigned=True), int8(1, 3, 7, 2)),
    case("i16", Resize((5, 3), half_pixels=True), wide(int8(1, 2, 4, 3))),
    case("float32", Resize((7, 5)), float32(1, 3, 4, 2)),
    case("float32_centres", Resize((4, 9), half_pixels=True), float32(2, 3, 4, 2)),
)
