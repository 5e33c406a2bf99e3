"""Sums, differences, products: scales, activations, saturation, operands that are repeated or constant."""

from collections.abc import Iterator

import numpy as np
from elementwise_shapes import PAIRS
from op_case import OpCase, Weights, float32, in_powers, int8, int16, op_case, plain

from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, BinaryOp, Div, Mul, Prelu, SquaredDifference, Sub
from aot.ops.rounding import RequantRounding


def case(name: str, op: BinaryOp, first: TensorType, second: TensorType, out: TensorType) -> OpCase:
    return op_case(f"{op.name}_{name}", op, [first, second], out)


def constant(tensor: TensorType, seed: int = 4) -> Weights:
    values = np.random.default_rng(seed).integers(-128, 128, tensor.shape)
    return Weights(tensor, values.astype(np.int8))


def shapes(op: BinaryOp, out: TensorType) -> Iterator[OpCase]:
    """Each way in which one operand is repeated over the other."""
    image, vectors = int8(1, 4, 5, 3, zero_point=7), int8(2, 3, 4, zero_point=7)
    for name, x, y in (
        ("channels", image, int8(1, 1, 1, 3, zero_point=-5)),
        ("columns", image, int8(1, 1, 5, 1, zero_point=-5)),
        ("rows", image, int8(1, 4, 1, 1, zero_point=-5)),
        ("number", image, int8(1, 1, 1, 1, zero_point=-5)),
        ("same", image, int8(1, 4, 5, 3, zero_point=-5)),
        ("vector", vectors, int8(1, 1, 4, zero_point=-5)),
    ):
        yield case(f"{name}_second", op, x, y, out)
        yield case(f"{name}_first", op, y, x, out)
        yield op_case(f"{op.name}_{name}_constant", op, [x], out, [constant(y)])


def constant_first() -> OpCase:
    """A constant from which the input is subtracted."""
    channels = constant(int8(1, 1, 1, 3))
    whole = op_case("sub_from_constant", Sub(), [int8(1, 4, 5, 3)], int8(scale=0.1), [channels])
    (node,) = whole.graph.nodes
    turned = type(node)(node.name, node.op, node.inputs[::-1], node.outputs)
    return OpCase(whole.name, whole.graph.with_nodes((turned,)))


CASES: tuple[OpCase, ...] = (
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
    case("float32", Sub(), float32(1, 3, 3, 2), float32(1, 3, 1, 2), float32()),
    case("float32", Mul(Activation.RELU6), float32(1, 3, 3, 2), float32(1, 1, 1, 2), float32()),
    case("saturating", Mul(), int8(1, 3, 3, 2), int8(1, 3, 3, 2, scale=3.0), int8(scale=0.05)),
    case("relu", Mul(Activation.RELU), int8(2, 5), int8(2, 5), int8(scale=0.2, zero_point=-100)),
    case(
        "rounded_once",
        Mul(rounding=RequantRounding.SINGLE),
        int8(2, 9),
        int8(2, 9, zero_point=5),
        int8(scale=0.09),
    ),
    op_case(
        "rounded_once_constant",
        Mul(rounding=RequantRounding.SINGLE),
        [int8(1, 3, 4, 5, zero_point=7)],
        int8(scale=0.09),
        [constant(int8(1, 1, 1, 5, zero_point=-5))],
    ),
    case(
        "int16_rounded_once",
        Mul(rounding=RequantRounding.SINGLE),
        int16(2, 9),
        int16(2, 9),
        int16(scale=0.0007),
    ),
    case("tiny_result", Mul(), int8(1, 9), int8(1, 9), int8(scale=0.0005, zero_point=9)),
    case("relu", Sub(Activation.RELU), int8(1, 3, 3, 5), int8(1, 3, 3, 5), int8(scale=0.1, zero_point=-30)),
    constant_first(),
    *shapes(Add(), int8(scale=0.1, zero_point=3)),
    *shapes(Sub(), int8(scale=0.1, zero_point=3)),
    *shapes(Mul(), int8(scale=0.3, zero_point=3)),
    *(case(f"{n}_f32", Add(), float32(*a), float32(*b), float32()) for n, (a, b) in PAIRS.items()),
    *(
        case(f"{n}_wide", Sub(), int8(*a), int8(*b, scale=0.03), int8(scale=0.1))
        for n, (a, b) in PAIRS.items()
    ),
    *(
        case("int16", op, int16(3, 7), int16(7, scale=0.0003), int16(scale=0.001))
        for op in (Add(), Sub(), Mul())
    ),
    *(
        case(dtype.value, op, plain(dtype, 3, 7), plain(dtype, 3, 7), plain(dtype))
        for dtype in (DType.I8, DType.I16, DType.I32, DType.I64)
        for op in (Add(), Sub(Activation.RELU6), Mul(), Div(), SquaredDifference(), Prelu())
    ),
    case(
        "int8", SquaredDifference(), int8(1, 3, 4, 5), int8(5, scale=0.02), int8(scale=0.2, zero_point=-100)
    ),
    case("int16", SquaredDifference(), int16(4, 5), int16(5, scale=0.0004), int16(scale=0.02)),
    case("f32", SquaredDifference(), float32(4, 5), float32(4, 1), float32()),
    case("int8", Div(), int8(1, 3, 4, 5, zero_point=3), int8(5, scale=0.02), int8(scale=0.1, zero_point=-3)),
    case("f32", Div(Activation.RELU), float32(4, 5), float32(4, 1), float32()),
    case("int8", Prelu(), int8(1, 4, 5, 3, zero_point=7), int8(1, 1, 1, 3, zero_point=-5), int8(scale=0.3)),
    op_case(
        "prelu_constant", Prelu(), [int8(1, 4, 5, 3)], int8(scale=0.3), [constant(int8(3, zero_point=4))]
    ),
    case("kept_scale", Prelu(), int8(1, 4, 5, 3, zero_point=-100), int8(3), int8(zero_point=-90)),
    case("in_single", Prelu(scales_in_single=True), int8(4, 5), int8(5, scale=0.02), int8(scale=0.07)),
    case("int16", Prelu(), int16(4, 5), int16(5, scale=0.0004), int16(scale=0.0002)),
    case("f32", Prelu(), float32(4, 5), float32(5), float32()),
)
CASES += in_powers(
    CASES,
    "add_scales_differ",
    "add_saturating",
    "add_channels_constant",
    "sub_channels_constant",
    "add_relu",
    "mul_relu",
    "mul_saturating",
    "mul_rounded_once",
    "mul_int16_rounded_once",
)
