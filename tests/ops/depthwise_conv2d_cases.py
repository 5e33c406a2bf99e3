"""Depthwise convolutions: sizes, strides, dilations, paddings, multipliers, activations."""

import numpy as np
from op_case import (
    OpCase,
    Weights,
    float32,
    float32_weights,
    full_weights,
    in_powers,
    int8,
    int8_weights,
    int32_bias,
    op_case,
    wide,
    wide_bias,
    wide_weights,
)

from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.rounding import RequantRounding

OUT = int8(scale=0.03, zero_point=-7)
# Near the largest word: with it, sums that round once need more than 32 bits.
LARGE_BIAS = Weights(TensorType(DType.I32, (4,)), np.full(4, 2_147_483_000, np.int32))
SAME3 = ((1, 1), (1, 1))


def case(
    name: str,
    op: DepthwiseConv2d,
    x: TensorType,
    kernel: tuple[int, int] = (3, 3),
    out: TensorType = OUT,
    per_channel: bool = True,
    bias: bool = True,
) -> OpCase:
    channels = x.shape[3] * op.multiplier
    w = int8_weights(*kernel, channels, axis=2 if per_channel else None)
    b: Weights | None = int32_bias(channels) if bias else None
    return op_case(f"depthwise_{name}", op, [x], out, [w, b])


CASES: tuple[OpCase, ...] = (
    case("same", DepthwiseConv2d(padding=SAME3), int8(1, 6, 7, 8, zero_point=-128)),
    case("valid", DepthwiseConv2d(), int8(1, 5, 5, 4, zero_point=10)),
    case("one_channel", DepthwiseConv2d(padding=SAME3), int8(1, 5, 5, 1, zero_point=10)),
    case("odd_channels", DepthwiseConv2d(padding=SAME3), int8(1, 5, 6, 7, zero_point=-3)),
    case(
        "stride2", DepthwiseConv2d(stride=(2, 2), padding=((0, 1), (0, 1))), int8(1, 8, 6, 4, zero_point=-128)
    ),
    case("dilated", DepthwiseConv2d(dilation=(2, 2), padding=((2, 2), (2, 2))), int8(1, 6, 6, 4)),
    case("5x2", DepthwiseConv2d(padding=((2, 2), (0, 1))), int8(1, 6, 6, 4, zero_point=1), (5, 2)),
    case("tall", DepthwiseConv2d(padding=((8, 0), (0, 0))), int8(1, 4, 1, 35, zero_point=127), (9, 1)),
    case("5x5", DepthwiseConv2d(padding=((2, 2), (2, 2))), int8(1, 5, 6, 18, zero_point=-128), (5, 5)),
    case("long", DepthwiseConv2d(stride=(1, 2)), int8(1, 1, 27, 33, zero_point=5), (1, 23)),
    case("one_tap", DepthwiseConv2d(), int8(1, 3, 3, 4, zero_point=1), (1, 1)),
    case("multiplier_2", DepthwiseConv2d(multiplier=2, padding=SAME3), int8(1, 5, 5, 3, zero_point=2)),
    case(
        "multiplier_3_stride_2",
        DepthwiseConv2d(multiplier=3, stride=(2, 2), padding=((0, 1), (1, 0))),
        int8(1, 8, 9, 5, zero_point=-128),
    ),
    case("multiplier_2_of_one", DepthwiseConv2d(multiplier=2), int8(1, 4, 19, 1, zero_point=127)),
    case("multiplier_8_of_one", DepthwiseConv2d(multiplier=8, stride=(2, 2)), int8(1, 9, 8, 1), (4, 3)),
    case("no_bias", DepthwiseConv2d(), int8(1, 4, 4, 4), bias=False),
    case("single_rounding", DepthwiseConv2d(rounding=RequantRounding.SINGLE), int8(1, 4, 5, 6, zero_point=4)),
    case("one_scale", DepthwiseConv2d(), int8(1, 4, 4, 4), per_channel=False),
    case(
        "relu6",
        DepthwiseConv2d(activation=Activation.RELU6),
        int8(1, 4, 4, 4),
        out=int8(scale=0.03, zero_point=-128),
    ),
    *(
        op_case(
            f"depthwise_long_sums_{size}x{size}",
            DepthwiseConv2d(rounding=RequantRounding.SINGLE),
            [int8(1, 7, 7, 4)],
            int8(scale=3000.0),
            [int8_weights(size, size, 4, axis=2), LARGE_BIAS],
        )
        for size in (3, 5)
    ),
    op_case(
        "depthwise_unsigned_weights",
        DepthwiseConv2d(padding=SAME3),
        [int8(1, 5, 6, 7, zero_point=-128)],
        OUT,
        [wide_weights(3, 3, 7), int32_bias(7)],
    ),
    op_case(
        "depthwise_i16",
        DepthwiseConv2d(padding=SAME3, rounding=RequantRounding.REDUCED),
        [wide(int8(1, 5, 6, 4))],
        wide(OUT),
        [int8_weights(3, 3, 4, axis=2), wide_bias(4)],
    ),
    op_case(
        "depthwise_i16_to_i8",
        DepthwiseConv2d(multiplier=2, result=DType.I8),
        [wide(int8(1, 6, 1, 3))],
        OUT,
        [wide_weights(6, 1, 6), int32_bias(6)],
    ),
    op_case(
        "depthwise_sums_that_wrap",
        DepthwiseConv2d(result=DType.I8),
        [wide(int8(1, 8, 1, 6))],
        OUT,
        [full_weights(8, 1, 6), int32_bias(6)],
    ),
    op_case(
        "depthwise_float32",
        DepthwiseConv2d(multiplier=2, padding=SAME3, activation=Activation.RELU6),
        [float32(1, 5, 6, 3)],
        float32(),
        [float32_weights(3, 3, 6), float32_weights(6)],
    ),
)
CASES += in_powers(
    CASES,
    "depthwise_same",
    "depthwise_one_tap",
    "depthwise_odd_channels",
    "depthwise_multiplier_2",
    "depthwise_5x5",
)
