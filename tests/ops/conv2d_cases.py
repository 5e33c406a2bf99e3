"""Convolutions: sizes, strides, dilations, paddings, activations, one scale and many."""

from op_case import (
    OpCase,
    Weights,
    float32,
    float32_weights,
    in_powers,
    int8,
    int8_weights,
    int32_bias,
    op_case,
    wide,
    wide_bias,
    wide_weights,
)

from aot.ir.types import TensorType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.rounding import RequantRounding

OUT = int8(scale=0.03, zero_point=-7)
SAME3 = ((1, 1), (1, 1))


def case(
    name: str,
    op: Conv2d,
    x: TensorType,
    filters: tuple[int, int, int],  # output channels, kernel rows, kernel columns
    out: TensorType = OUT,
    per_channel: bool = True,
    bias: bool = True,
) -> OpCase:
    w = int8_weights(*filters, x.shape[3], axis=0 if per_channel else None)
    b: Weights | None = int32_bias(filters[0]) if bias else None
    return op_case(f"conv2d_{name}", op, [x], out, [w, b])


CASES: tuple[OpCase, ...] = (
    case("pointwise", Conv2d(), int8(1, 4, 5, 8, zero_point=4), (6, 1, 1)),
    case("one_pixel", Conv2d(), int8(1, 1, 1, 1), (1, 1, 1)),
    case("3x3_same", Conv2d(padding=SAME3), int8(1, 6, 7, 3, zero_point=-128), (4, 3, 3)),
    case("3x3_valid", Conv2d(), int8(1, 6, 7, 3, zero_point=127), (4, 3, 3)),
    case("16_to_16", Conv2d(padding=SAME3), int8(1, 8, 8, 16, zero_point=-1), (16, 3, 3)),
    case("odd_channels", Conv2d(padding=SAME3), int8(1, 5, 5, 5, zero_point=9), (7, 3, 3)),
    case(
        "stride2", Conv2d(stride=(2, 2), padding=((0, 1), (0, 1))), int8(1, 8, 8, 3, zero_point=1), (8, 3, 3)
    ),
    case("stride_differs", Conv2d(stride=(1, 3)), int8(1, 5, 9, 2), (3, 2, 2)),
    case(
        "dilated",
        Conv2d(dilation=(2, 3), padding=((2, 2), (3, 3))),
        int8(1, 7, 8, 2, zero_point=3),
        (3, 3, 3),
    ),
    case("tall_kernel", Conv2d(padding=((4, 5), (1, 2))), int8(1, 12, 6, 1, zero_point=83), (8, 10, 4)),
    case("window_is_image", Conv2d(), int8(1, 4, 3, 2, zero_point=5), (3, 4, 3)),
    case("no_bias", Conv2d(), int8(1, 3, 3, 4, zero_point=2), (4, 2, 2), bias=False),
    case("one_scale", Conv2d(), int8(1, 3, 3, 4, zero_point=2), (4, 2, 2), per_channel=False),
    case("relu", Conv2d(activation=Activation.RELU), int8(1, 4, 4, 4), (4, 3, 3)),
    case(
        "relu6",
        Conv2d(activation=Activation.RELU6),
        int8(1, 4, 4, 4),
        (4, 3, 3),
        int8(scale=0.06, zero_point=-90),
    ),
    case("relu_n1_to_1", Conv2d(activation=Activation.RELU_N1_TO_1), int8(1, 4, 4, 4), (4, 3, 3)),
    case("saturating", Conv2d(), int8(1, 4, 4, 4), (4, 3, 3), int8(scale=0.001)),
    case("multiplier_above_one", Conv2d(), int8(1, 4, 4, 1, scale=40.0), (4, 1, 1), int8(scale=0.002)),
    case("single_rounding", Conv2d(rounding=RequantRounding.SINGLE), int8(1, 4, 4, 8), (4, 3, 3)),
    op_case(
        "conv2d_i16",
        Conv2d(padding=SAME3),
        [wide(int8(1, 6, 7, 3))],
        wide(OUT),
        [int8_weights(4, 3, 3, 3, axis=0), int32_bias(4)],
    ),
    op_case(
        "conv2d_i16_wide_sums",
        Conv2d(stride=(1, 2), activation=Activation.RELU, rounding=RequantRounding.REDUCED),
        [wide(int8(1, 5, 7, 8))],
        wide(OUT),
        [int8_weights(5, 3, 3, 8, axis=0), wide_bias(5)],
    ),
    op_case(
        "conv2d_i16_reduced",
        Conv2d(rounding=RequantRounding.REDUCED),
        [wide(int8(1, 3, 3, 16))],
        wide(OUT),
        [int8_weights(6, 1, 1, 16, axis=0), None],
    ),
    op_case(
        "conv2d_wide_weights",
        Conv2d(padding=SAME3),
        [int8(1, 4, 5, 6, zero_point=9)],
        OUT,
        [wide_weights(3, 3, 3, 6), int32_bias(3)],
    ),
    op_case(
        "conv2d_float32",
        Conv2d(stride=(2, 1), padding=SAME3, activation=Activation.RELU),
        [float32(1, 5, 6, 3)],
        float32(),
        [float32_weights(4, 3, 3, 3), float32_weights(4)],
    ),
)
CASES += in_powers(
    CASES,
    "conv2d_pointwise",
    "conv2d_3x3_same",
    "conv2d_16_to_16",
    "conv2d_one_scale",
    "conv2d_relu",
    "conv2d_multiplier_above_one",
)
