"""Average pools: windows that divide the image, that do not, that are the image, with and without padding."""

from op_case import OpCase, float32, int8, op_case, wide

from aot.ir.types import TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d, Halves


def case(name: str, op: AveragePool2d, x: TensorType) -> OpCase:
    return op_case(f"average_pool2d_{name}", op, [x], x)


CASES = (
    case("2x2", AveragePool2d(), int8(1, 4, 6, 3, zero_point=5)),
    case("whole_image", AveragePool2d((5, 4), (5, 4)), int8(1, 5, 4, 7, zero_point=-128)),
    case("overlapping", AveragePool2d((3, 3), (1, 1)), int8(1, 5, 6, 4)),
    case("same", AveragePool2d((3, 3), (2, 2), ((1, 1), (0, 1))), int8(1, 5, 6, 4, zero_point=-9)),
    case("one_pixel", AveragePool2d((1, 1), (2, 2)), int8(1, 3, 3, 1)),
    case("relu", AveragePool2d(activation=Activation.RELU), int8(1, 4, 4, 3, zero_point=-20)),
    case("i16", AveragePool2d((3, 2), (1, 2), ((1, 1), (1, 0))), wide(int8(1, 5, 5, 3))),
    case("i16_whole_image", AveragePool2d((5, 4), (5, 4)), wide(int8(1, 5, 4, 3))),
    case("unsigned", AveragePool2d((3, 2), (1, 2), ((1, 1), (1, 0)), halves=Halves.UP), int8(1, 5, 5, 3)),
    case("to_even", AveragePool2d((2, 2), (2, 1), halves=Halves.TO_EVEN), int8(1, 6, 7, 5)),
    case(
        "to_even_counted",
        AveragePool2d((3, 2), (1, 2), ((1, 1), (1, 0)), halves=Halves.TO_EVEN),
        int8(1, 5, 5, 3),
    ),
    case("to_odd", AveragePool2d((2, 2), (2, 1), halves=Halves.TO_ODD), int8(1, 6, 7, 5, zero_point=3)),
    case("to_even_whole_image", AveragePool2d((2, 4), (2, 4), halves=Halves.TO_EVEN), int8(1, 2, 4, 30)),
    case("to_even_i16", AveragePool2d((2, 2), (2, 1), halves=Halves.TO_EVEN), wide(int8(1, 6, 7, 5))),
    case("float32", AveragePool2d((3, 2), (1, 2), ((1, 1), (1, 0))), float32(1, 5, 5, 3)),
)
