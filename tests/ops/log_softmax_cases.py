"""Logarithms of softmaxes: lengths, scales from coarse to fine, floats."""

from op_case import OpCase, float32, int8, op_case

from aot.ir.types import TensorType
from aot.ops.log_softmax import LogSoftmax

OUT = int8(scale=1 / 16, zero_point=127)


def case(name: str, x: TensorType) -> OpCase:
    return op_case(f"log_softmax_{name}", LogSoftmax(), [x], OUT)


CASES = (
    case("12", int8(1, 12, scale=0.03, zero_point=14)),
    case("2", int8(3, 2, scale=0.0125, zero_point=-1)),
    case("1", int8(1, 1)),
    case("coarse_scale", int8(2, 10, scale=0.7)),
    case("very_coarse_scale", int8(2, 10, scale=8.0)),
    case("image", int8(1, 3, 2, 5, scale=0.1)),
    op_case("log_softmax_float32", LogSoftmax(), [float32(2, 6)], float32()),
    op_case("log_softmax_float32_image", LogSoftmax(), [float32(1, 2, 3, 4)], float32()),
)
