"""Clamps and curves: scales from fine to coarse, saturation, floats where they are exact."""

from op_case import OpCase, float32, int8, int16, op_case, wide

from aot.ir.types import DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh, Unary

IMAGE, VECTOR = (1, 4, 5, 3), (3, 40)
FROM_0_TO_1, FROM_M1_TO_1 = int8(scale=1 / 256, zero_point=-128), int8(scale=1 / 128)

FROM_0_TO_1_WIDE = TensorType(DType.I16, (), Quant((2.0**-15,), (0,)))
Q12 = TensorType(DType.I16, (3, 40), Quant((2.0**-12,), (0,)))


def case(name: str, op: Unary, x: TensorType, out: TensorType) -> OpCase:
    return op_case(f"{op.name}_{name}", op, [x], out)


CASES = (
    case("relu", Clamp(), int8(*IMAGE, zero_point=-3), int8(scale=0.04, zero_point=-100)),
    case("relu_coarse", Clamp(), int8(*VECTOR), int8(scale=0.4, zero_point=-128)),
    case("relu6", Clamp(Activation.RELU6), int8(*VECTOR, zero_point=9), int8(zero_point=9)),
    case("relu_n1_to_1", Clamp(Activation.RELU_N1_TO_1), int8(*IMAGE, scale=0.02), int8(scale=0.02)),
    case("i16", Clamp(), int16(3, 9), int16(scale=0.0004)),
    case("i16_relu6", Clamp(Activation.RELU6), int16(3, 9), int16()),
    case("one", Clamp(), int8(1, 1), int8(scale=0.04)),
    case("float32", Clamp(), float32(*IMAGE), float32()),
    case("float32_relu6", Clamp(Activation.RELU6), float32(*VECTOR), float32()),
    case("slope", LeakyRelu(0.1), int8(*IMAGE, zero_point=5), int8(scale=0.04, zero_point=-100)),
    case("steep", LeakyRelu(3.0), int8(*VECTOR), int8(scale=0.4, zero_point=2)),
    case("float32", LeakyRelu(0.25), float32(*IMAGE), float32()),
    case("falling", LeakyRelu(-0.5), int8(*VECTOR, zero_point=5), int8(scale=0.04, zero_point=-100)),
    case("int16_falling", LeakyRelu(-0.3), int16(3, 9), int16(scale=0.0004)),
    case("int16", LeakyRelu(0.3), int16(3, 9), int16(scale=0.0004)),
    case("usual", Logistic(), int8(*VECTOR, scale=0.06, zero_point=4), FROM_0_TO_1),
    case("fine", Logistic(), int8(*IMAGE, scale=0.001), FROM_0_TO_1),
    case("coarse", Logistic(), int8(*VECTOR, scale=2.0, zero_point=-7), FROM_0_TO_1),
    case("usual", Tanh(), int8(*VECTOR, scale=0.03, zero_point=4), FROM_M1_TO_1),
    case("fine", Tanh(), int8(*IMAGE, scale=0.001), FROM_M1_TO_1),
    case("coarse", Tanh(), int8(*VECTOR, scale=2.0, zero_point=-7), FROM_M1_TO_1),
    case("i16", Logistic(), Q12, FROM_0_TO_1_WIDE),
    case("i16_any_scale", Logistic(), wide(int8(*IMAGE)), FROM_0_TO_1_WIDE),
    case("i16", Tanh(), Q12, FROM_0_TO_1_WIDE),
    case("i16_coarse", Logistic(), int16(3, 9, scale=1.5), FROM_0_TO_1_WIDE),
    case("i16_coarse", Tanh(), int16(3, 9, scale=1.5), FROM_0_TO_1_WIDE),
    case("i16_any_scale", Tanh(), wide(int8(*IMAGE)), FROM_0_TO_1_WIDE),
    case("usual", HardSwish(), int8(*VECTOR, scale=0.06, zero_point=4), int8(scale=0.05, zero_point=-100)),
    case("fine", HardSwish(), int8(*IMAGE, scale=0.004), int8(scale=0.003)),
    case("coarse", HardSwish(), int8(*VECTOR, scale=0.3), int8(scale=0.25, zero_point=-3)),
)
