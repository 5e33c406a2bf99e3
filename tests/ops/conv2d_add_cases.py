"""Convolutions whose results are added to an image: activations of either, scales that differ, sizes."""

from dataclasses import replace

from drawing import Draw
from op_case import OpCase, in_powers, int8, int8_weights, int32_bias, op_case

from aot.ir.types import Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.rounding import RequantRounding

SUM = Add()
ADDED = int8(scale=0.03, zero_point=-11)
BETWEEN = Quant((0.05,), (-9,))
OUT = int8(scale=0.07, zero_point=5)
SAME3 = ((1, 1), (1, 1))


def case(
    name: str,
    conv: Conv2d,
    x: TensorType,
    filters: tuple[int, int, int],  # output channels, kernel rows, kernel columns
    out: TensorType = OUT,
    add: Add = SUM,
    added: TensorType = ADDED,
    per_channel: bool = True,
    bias: bool = True,
) -> OpCase:
    w = int8_weights(*filters, x.shape[3], axis=0 if per_channel else None)
    b = int32_bias(filters[0]) if bias else None
    ((_, shape),) = conv.infer([x, w.type])
    op = Conv2dAdd(conv, BETWEEN, add)
    return op_case(f"conv2d_add_{name}", op, [x], out, [w, b], behind=[replace(added, shape=shape)])


CASES: tuple[OpCase, ...] = (
    case("pointwise", Conv2d(), int8(1, 4, 5, 8, zero_point=4), (6, 1, 1)),
    case("one_pixel", Conv2d(), int8(1, 1, 1, 1), (1, 1, 1)),
    case("3x3_same", Conv2d(padding=SAME3), int8(1, 6, 7, 3, zero_point=-128), (4, 3, 3)),
    case("16_to_16", Conv2d(padding=SAME3), int8(1, 8, 8, 16, zero_point=-1), (16, 3, 3)),
    case("odd_channels", Conv2d(padding=SAME3), int8(1, 5, 5, 5, zero_point=9), (7, 3, 3)),
    case("stride2", Conv2d((2, 2), padding=((0, 1), (0, 1))), int8(1, 8, 8, 3, zero_point=1), (8, 3, 3)),
    case("dilated", Conv2d(dilation=(2, 3), padding=((2, 2), (3, 3))), int8(1, 7, 8, 2), (3, 3, 3)),
    case("no_bias", Conv2d(), int8(1, 3, 3, 4, zero_point=2), (4, 2, 2), bias=False),
    case("one_scale", Conv2d(), int8(1, 3, 3, 4, zero_point=2), (4, 2, 2), per_channel=False),
    case("relu_of_sum", Conv2d(), int8(1, 4, 4, 4), (4, 3, 3), add=Add(Activation.RELU)),
    case("relu6_of_sum", Conv2d(), int8(1, 4, 4, 4), (4, 3, 3), add=Add(Activation.RELU6)),
    case("relu_before", Conv2d(activation=Activation.RELU), int8(1, 4, 4, 4), (4, 3, 3)),
    case(
        "relu_twice",
        Conv2d(activation=Activation.RELU),
        int8(1, 4, 4, 4),
        (4, 3, 3),
        add=Add(Activation.RELU),
    ),
    case("saturating", Conv2d(), int8(1, 4, 4, 4), (4, 3, 3), int8(scale=0.06, zero_point=100)),
    case("larger_addend", Conv2d(), int8(1, 4, 4, 4), (4, 3, 3), added=int8(scale=0.9), out=int8(scale=1.1)),
    case("single_rounding", Conv2d(rounding=RequantRounding.SINGLE), int8(1, 4, 4, 8), (4, 3, 3)),
)
CASES += in_powers(CASES, "conv2d_add_pointwise", "conv2d_add_one_scale", "conv2d_add_relu_of_sum")


def _conv2d_add(draw: Draw) -> OpCase:
    kernel, x = draw.shape(2, 3), int8(1, *draw.shape(3, 6), zero_point=draw.upto(127, -128))
    stride = draw.upto(2), draw.upto(2)
    op = Conv2d(stride, padding=((kernel[0] // 2, kernel[0]), (kernel[1] // 2, kernel[1])))
    return case("any", op, x, (draw.upto(6), kernel[0], kernel[1]))


SHAPES = {"conv2d+add": _conv2d_add}
