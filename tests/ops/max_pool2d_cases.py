"""Maximum pools: the windows of the average pools."""

from op_case import OpCase, float32, int8, op_case, wide

from aot.ir.types import TensorType
from aot.ops.activation import Activation
from aot.ops.max_pool2d import MaxPool2d


def case(name: str, op: MaxPool2d, x: TensorType) -> OpCase:
    return op_case(f"max_pool2d_{name}", op, [x], x)


CASES = (
    case("2x2", MaxPool2d(), int8(1, 4, 6, 3, zero_point=5)),
    case("whole_image", MaxPool2d((5, 4), (5, 4)), int8(1, 5, 4, 7, zero_point=-128)),
    case("overlapping", MaxPool2d((3, 3), (1, 1)), int8(1, 5, 6, 4)),
    case("same", MaxPool2d((3, 3), (2, 2), ((1, 1), (0, 1))), int8(1, 5, 6, 4, zero_point=-9)),
    case("relu6", MaxPool2d(activation=Activation.RELU6), int8(1, 4, 4, 3, scale=0.1, zero_point=-20)),
    case("i16", MaxPool2d((2, 3), (1, 1), ((1, 0), (1, 1))), wide(int8(1, 4, 5, 3))),
    case("float32", MaxPool2d((3, 2), (1, 2), ((1, 1), (1, 0))), float32(1, 5, 5, 3)),
)
