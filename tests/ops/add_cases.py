"""Additions: equal and very different scales, activations, saturation."""

from __future__ import annotations

from op_case import OpCase, float32, int8, op_case

from aot.ir.types import TensorType
from aot.ops.activation import Activation
from aot.ops.add import Add


def case(name: str, op: Add, first: TensorType, second: TensorType, out: TensorType) -> OpCase:
    return op_case(f"add_{name}", op, [first, second], out)


CASES = (
    case("same_scale", Add(), int8(1, 4, 5, 3), int8(1, 4, 5, 3), int8(scale=0.1)),
    case(
        "scales_differ",
        Add(),
        int8(1, 4, 5, 3, scale=0.05, zero_point=4),
        int8(1, 4, 5, 3, scale=0.0031, zero_point=-128),
        int8(scale=0.047, zero_point=-9),
    ),
    case("saturating", Add(), int8(1, 3, 3, 2), int8(1, 3, 3, 2, scale=0.2), int8(scale=0.05)),
    case("relu", Add(Activation.RELU), int8(1, 3, 3, 5), int8(1, 3, 3, 5), int8(scale=0.1, zero_point=-30)),
    case("vector", Add(), int8(1, 7, zero_point=1), int8(1, 7, zero_point=2), int8(scale=0.09, zero_point=3)),
    case("float32", Add(Activation.RELU_N1_TO_1), float32(1, 3, 3, 2), float32(1, 3, 3, 2), float32()),
)
