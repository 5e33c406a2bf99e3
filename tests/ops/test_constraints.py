"""Each limit of each op refuses what it says it refuses; the whole text is the message."""

from __future__ import annotations

import pytest
from op_case import float32, int8

from aot.ir.types import DType, Quant, TensorType
from aot.ops.add import Add
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.constraints import violations
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax

X = int8(1, 4, 4, 2)
W = int8(3, 3, 3, 2)
B = TensorType(DType.I32, (3,))
Y = int8(1, 2, 2, 3)
U8 = TensorType(DType.U8, (1, 4, 4, 2), Quant((0.1,), (0,)))
PLAIN = TensorType(DType.I8, (1, 4, 4, 2))


def per_channel(*shape: int, axis: int, zero_point: int = 0) -> TensorType:
    count = shape[axis]
    return TensorType(DType.I8, shape, Quant((0.1,) * count, (zero_point,) * count, axis))


CASES: dict[str, tuple[Op, list[TensorType | None], TensorType, str]] = {
    "count": (Conv2d(), [X], Y, "there must be 2 to 3 inputs and one output: it has 1"),
    "weights absent": (Conv2d(), [X, None, B], Y, "there must be 2 to 3 inputs and one output: it has 3"),
    "dtype": (Softmax(), [U8], U8, "input and output elements must both be i8 or f32: they are u8, u8"),
    "mixed": (
        Softmax(),
        [X],
        float32(1),
        "input and output elements must both be i8 or f32: they are i8, f32",
    ),
    "hybrid": (
        Dense(),
        [float32(1, 8), int8(2, 8)],
        float32(1, 2),
        "weights must have the input's element type: the input is f32, the weights are i8",
    ),
    "bias": (
        Conv2d(),
        [X, W, int8(3)],
        Y,
        "the bias must be i32 for i8 inputs and f32 for f32 inputs: the input is i8, the bias is i8",
    ),
    "bias length": (
        Conv2d(),
        [X, W, TensorType(DType.I32, (2,))],
        Y,
        "the bias must be 1-d with one element for each output channel: it has shape 2, there are 3 channels",
    ),
    "rank": (Conv2d(), [int8(4, 4, 2), W], Y, "the input must have 4 dimensions: it has shape 4x4x2"),
    "batch": (
        Conv2d(),
        [int8(2, 4, 4, 2), W],
        Y,
        "the batch (first dimension of the input) must be 1: it has shape 2x4x4x2",
    ),
    "groups": (
        Conv2d(),
        [int8(1, 4, 4, 4), W],
        Y,
        "weights must be 4-d and have as many channels as the input (no groups): "
        "the input has 4 channels, the weights 2",
    ),
    "window": (
        Conv2d(),
        [int8(1, 2, 4, 2), W],
        Y,
        "the window must fit into the padded image: the result would have 0 rows, 2 columns",
    ),
    "no quantisation": (
        AveragePool2d(),
        [PLAIN],
        PLAIN,
        "i8 inputs and outputs must be quantised with one scale and one zero point: "
        "the input has no quantisation",
    ),
    "many scales": (
        AveragePool2d(),
        [per_channel(1, 4, 4, 2, axis=3)],
        int8(1, 2, 2, 2),
        "i8 inputs and outputs must be quantised with one scale and one zero point: the input has 2 scales",
    ),
    "asymmetric weights": (
        Conv2d(),
        [X, int8(3, 3, 3, 2, zero_point=4)],
        Y,
        "i8 weights must have zero point 0 and one scale, or one scale for each output channel: zero point 4",
    ),
    "axis of weights": (
        Conv2d(),
        [X, per_channel(3, 3, 3, 2, axis=3)],
        Y,
        "i8 weights must have zero point 0 and one scale, or one scale for each output channel: "
        "scales along dimension 3 of shape 3x3x3x2",
    ),
    "rescale": (
        Dense(),
        [int8(1, 4, scale=1e9), int8(2, 4, scale=100.0)],
        int8(1, 2, scale=0.01),
        "input scale * weight scale / output scale must be below 2**30: it is 1e+13",
    ),
    "multiplier": (
        DepthwiseConv2d(multiplier=2),
        [X, int8(3, 3, 5)],
        int8(1, 2, 2, 5),
        "weights must have multiplier times as many channels as the input: "
        "the input has 2 channels, the multiplier is 2, the weights 5",
    ),
    "depth": (
        Dense(),
        [int8(1, 4), int8(2, 5)],
        int8(1, 2),
        "weights must be 2-d with rows as long as the input's: "
        "a row of the input has 4 elements, a row of the weights 5",
    ),
    "pool quantisation": (
        AveragePool2d(),
        [X],
        int8(1, 2, 2, 2, scale=0.06),
        "input and output must have the same quantisation: "
        "scale 0.05, zero point 0 become scale 0.06, zero point 0",
    ),
    "pool padding": (
        AveragePool2d(padding=((2, 0), (0, 0))),
        [X],
        int8(1, 3, 2, 2),
        "padding must be smaller than the window: a window of 2 with padding 2 and 0",
    ),
    "broadcast": (
        Add(),
        [X, int8(1, 1, 1, 2)],
        X,
        "both inputs must have the same shape (no broadcasting): 1x4x4x2 and 1x1x1x2",
    ),
    "add types": (
        Add(),
        [X, float32(1, 4, 4, 2)],
        X,
        "both inputs must have the same element type and, if i8, be quantised: i8 and f32",
    ),
    "add scales": (
        Add(),
        [int8(4, scale=1e4), int8(4)],
        int8(4, scale=0.01),
        "the larger input scale must be less than 2**19 times the output scale: it is 1e+06 times as large",
    ),
    "elements": (
        Reshape((5,)),
        [int8(4)],
        int8(5),
        "the number of elements must stay the same: 4 would become 5",
    ),
    "reshape type": (
        Reshape((4,)),
        [int8(4)],
        float32(4),
        "the element type must stay the same: i8 would become f32",
    ),
    "probabilities": (
        Softmax(),
        [int8(1, 4)],
        int8(1, 4),
        "an i8 output must have scale 1/256 and zero point -128: scale 0.05, zero point 0",
    ),
    "resolution": (
        Softmax(beta=1e-9),
        [int8(1, 4)],
        int8(1, 4, scale=1 / 256, zero_point=-128),
        "beta * input scale must be at least 2**-26 for i8 inputs: it is 5e-11",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_limit_says_what_and_how(name: str) -> None:
    op, inputs, output, message = CASES[name]
    assert violations(op, inputs, [output]) == [message]


def test_what_keeps_the_limits_is_let_through() -> None:
    assert violations(Conv2d(), [X, per_channel(3, 3, 3, 2, axis=0), B], [Y]) == []
