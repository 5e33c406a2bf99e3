"""Padding: each side by another number of pixels, zeros and other values."""

import math

from op_case import OpCase, float32, int8, int16, op_case, plain

from aot.ir.types import DType, TensorType
from aot.ops.pad import Pad
from aot.ops.spatial import NO_PADDING


def case(name: str, op: Pad, x: TensorType, out: TensorType) -> OpCase:
    return op_case(f"pad_{name}", op, [x], out)


CASES = (
    case("all_sides", Pad(((1, 2), (3, 0)), 4.0), int8(1, 4, 5, 3, zero_point=4), int8(zero_point=4)),
    case("rows", Pad(((2, 1), (0, 0)), -128.0), int8(1, 3, 4, 2), int8()),
    case("columns", Pad(((0, 0), (0, 3)), 127.0), int8(1, 1, 4, 5), int8()),
    case("nothing", Pad(NO_PADDING, 1.0), int8(1, 2, 2, 2), int8()),
    case("float32", Pad(((1, 0), (2, 1)), 0.0), float32(1, 3, 4, 2), float32()),
    case("float32_value", Pad(((1, 0), (2, 1)), -7.0), float32(1, 3, 4, 2), float32()),
    case("float32_infinite", Pad(((1, 0), (2, 1)), -math.inf), float32(1, 3, 4, 2), float32()),
    case("float32_fraction", Pad(((0, 2), (0, 1)), 0.3), float32(1, 3, 4, 2), float32()),
    case("int16", Pad(((1, 0), (2, 1)), -300.0), int16(1, 3, 4, 2), int16()),
    case("int32", Pad(((1, 0), (2, 1)), -70000.0), plain(DType.I32, 1, 3, 4, 2), plain(DType.I32)),
    case("bool", Pad(((1, 0), (2, 1)), 0.0), plain(DType.BOOL, 1, 3, 4, 2), plain(DType.BOOL)),
)
