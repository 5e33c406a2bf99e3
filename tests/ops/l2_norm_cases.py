"""Vectors of length 1: of one element, of many, of an image's channels."""

from op_case import OpCase, float32, int8, op_case

from aot.ir.types import TensorType
from aot.ops.l2_norm import L2Norm

OUT = int8(scale=1 / 128)


def case(name: str, x: TensorType) -> OpCase:
    return op_case(f"l2_norm_{name}", L2Norm(), [x], OUT)


CASES = (
    case("10", int8(1, 10, zero_point=14)),
    case("1", int8(2, 1, zero_point=-128)),
    case("long", int8(2, 300, zero_point=3)),
    case("image", int8(1, 3, 2, 5, zero_point=-7)),
    op_case("l2_norm_unsigned", L2Norm(is_unsigned=True), [int8(2, 300, zero_point=3)], OUT),
    op_case("l2_norm_unsigned_10", L2Norm(is_unsigned=True), [int8(1, 10, zero_point=14)], OUT),
    op_case("l2_norm_float32", L2Norm(), [float32(3, 6)], float32()),
    op_case("l2_norm_float32_image", L2Norm(), [float32(1, 2, 3, 4)], float32()),
)
