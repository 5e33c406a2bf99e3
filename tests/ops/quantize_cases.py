"""Conversions: from and to floats, between 8-bit types and scales."""

from dataclasses import replace

from op_case import OpCase, float32, int8, op_case, wide

from aot.ir.types import DType, Quant, TensorType
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize

IMAGE, VECTOR = (1, 4, 5, 3), (3, 40)


def uint8(*shape: int, scale: float = 0.05, zero_point: int = 0) -> TensorType:
    return replace(int8(*shape, scale=scale, zero_point=zero_point), dtype=DType.U8)


def case(name: str, op: Op, x: TensorType, out: TensorType) -> OpCase:
    return op_case(f"{op.name}_{name}", op, [x], out)


CASES = (
    case("real", Quantize(), float32(*VECTOR), int8(scale=0.02, zero_point=-3)),
    case("real_image", Quantize(), float32(*IMAGE), int8(scale=0.005, zero_point=100)),
    case("real_halves", Quantize(), float32(*IMAGE), int8(scale=1.0)),
    case("real_to_unsigned", Quantize(DType.U8), float32(*IMAGE), uint8(scale=0.02, zero_point=128)),
    case("halves_to_even", Quantize(halves_to_even=True), float32(*IMAGE), int8(scale=1.0)),
    case("i16_halves_to_even", Quantize(DType.I16, True), float32(*VECTOR), wide(int8(scale=0.5))),
    case("finer", Quantize(), int8(*VECTOR, zero_point=4), int8(scale=0.03, zero_point=-9)),
    case("coarser", Quantize(), int8(*IMAGE), int8(scale=0.4, zero_point=12)),
    case("unsigned", Quantize(), uint8(*IMAGE, zero_point=128), int8()),
    case("to_unsigned", Quantize(DType.U8), int8(*IMAGE, zero_point=3), uint8(scale=0.06, zero_point=120)),
    case("signed", Quantize(), uint8(*IMAGE, zero_point=131), int8(scale=0.05, zero_point=3)),
    case("unsigned_same", Quantize(DType.U8), int8(3, 41, zero_point=-128), uint8(scale=0.05)),
    case("one", Quantize(), float32(1, 1), int8()),
    case("i16_to_i8", Quantize(), wide(int8(*IMAGE)), int8(scale=0.04, zero_point=-9)),
    case("i8_to_i16", Quantize(DType.I16), int8(*VECTOR, zero_point=4), wide(int8(scale=0.03))),
    case(
        "i16_to_i32",
        Quantize(DType.I32),
        wide(int8(*VECTOR)),
        TensorType(DType.I32, (), Quant((1e-6,), (0,))),
    ),
    case("i32_to_i16", Quantize(DType.I16), TensorType(DType.I32, IMAGE, Quant((1e-9,), (0,))), wide(int8())),
    case("real_to_i16", Quantize(DType.I16), float32(*IMAGE), wide(int8())),
    case("i16", Dequantize(), wide(int8(*VECTOR)), float32()),
    case("vector", Dequantize(), int8(*VECTOR, zero_point=4), float32()),
    case("unsigned", Dequantize(), uint8(*IMAGE, scale=0.0037, zero_point=4), float32()),
)
