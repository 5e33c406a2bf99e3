"""Softmax: lengths, scales from coarse to so fine that everything is alike, beta."""

from op_case import OpCase, float32, int8, op_case, wide

from aot.ir.types import DType, Quant, TensorType
from aot.ops.softmax import Softmax

OUT = int8(scale=1 / 256, zero_point=-128)


def case(name: str, op: Softmax, x: TensorType) -> OpCase:
    return op_case(f"softmax_{name}", op, [x], OUT)


def case_16(name: str, x: TensorType) -> OpCase:
    return op_case(f"softmax_16_{name}", Softmax(), [x], TensorType(DType.I16, (), Quant((2.0**-15,), (0,))))


CASES = (
    case("12", Softmax(), int8(1, 12, scale=0.1447, zero_point=14)),
    case("2", Softmax(), int8(1, 2, scale=0.0125, zero_point=-1)),
    case("1", Softmax(), int8(1, 1)),
    case("fine_scale", Softmax(), int8(1, 10, scale=0.0001)),
    case("coarse_scale", Softmax(), int8(1, 10, scale=3.0)),
    case("very_coarse_scale", Softmax(), int8(1, 10, scale=100.0)),
    case("beta", Softmax(beta=0.25), int8(1, 10, scale=0.2)),
    case("three_rows", Softmax(), int8(3, 5, scale=0.1)),
    case("image", Softmax(), int8(1, 2, 2, 4, scale=0.1)),
    op_case(
        "softmax_to_i16",
        Softmax(result=DType.I16),
        [int8(2, 9, scale=0.1, zero_point=3)],
        TensorType(DType.I16, (), Quant((2.0**-16,), (-(2**15),))),
    ),
    case_16("5", wide(int8(3, 5, scale=0.1))),
    case_16("1", wide(int8(1, 1))),
    case_16("long_image", wide(int8(1, 2, 2, 40, scale=0.05))),
    case_16("coarse_scale", TensorType(DType.I16, (2, 6), Quant((3.5,), (0,)))),
    op_case("softmax_float32", Softmax(), [float32(2, 6)], float32()),
)
