"""Each limit of each op refuses what it says it refuses; the whole text is the message."""

from __future__ import annotations

import pytest
from op_case import float32, int8, int16

from aot.ir.types import DType, Quant, TensorType
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add, Mul
from aot.ops.concat import Concat
from aot.ops.constraints import violations
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.hybrid_dense import HybridDense
from aot.ops.lookup import Lookup
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.pad import Pad
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Rearrange
from aot.ops.recurrent import Cell, Recurrent
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax
from aot.ops.unary import Clamp, LeakyRelu, Logistic, Tanh

X = int8(1, 4, 4, 2)
W = int8(3, 3, 3, 2)
B = TensorType(DType.I32, (3,))
Y = int8(1, 2, 2, 3)
U8 = TensorType(DType.U8, (1, 4, 4, 2), Quant((0.1,), (0,)))
PLAIN = TensorType(DType.I8, (1, 4, 4, 2))
WIDE = TensorType(DType.I32, (4,), Quant((0.1,), (0,)))


def per_channel(*shape: int, axis: int, zero_point: int = 0) -> TensorType:
    count = shape[axis]
    return TensorType(DType.I8, shape, Quant((0.1,) * count, (zero_point,) * count, axis))


_GATES, _CELL = int16(1, 1, 1, 4), int16(1, 1)
CASES: dict[str, tuple[Op, list[TensorType | None], TensorType, str]] = {
    "count": (Conv2d(), [X], Y, "there must be 2 to 3 inputs and one output: it has 1"),
    "weights absent": (Conv2d(), [X, None, B], Y, "there must be 2 to 3 inputs and one output: it has 3"),
    "dtype": (
        Softmax(),
        [U8],
        U8,
        "elements must be f32, i16, or i8 with results of i8 or i16: u8 become u8",
    ),
    "mixed": (
        Softmax(),
        [X],
        float32(1),
        "elements must be f32, i16, or i8 with results of i8 or i16: i8 become f32",
    ),
    "hybrid": (
        Conv2d(),
        [float32(1, 4, 4, 2), int8(3, 3, 3, 2)],
        float32(1, 2, 2, 3),
        "weights must be i8 or i16 if the input is, else f32: the input is f32, the weights are i8",
    ),
    "weights of a hybrid layer": (
        HybridDense(),
        [float32(1, 4), float32(3, 4)],
        float32(1, 3),
        "weights must be i8: they are f32",
    ),
    "a row of a hybrid layer": (
        HybridDense(),
        [float32(1, 65_794), int8(3, 65_794)],
        float32(1, 3),
        "a row must have at most 65,793 elements, so that its sum fits 32 bits: there are 65794",
    ),
    "bias": (
        Conv2d(),
        [X, W, int8(3)],
        Y,
        "the bias must be i32 or i64 for integer inputs and f32 for f32 inputs: "
        "the input is i8, the bias is i8",
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
        "i8 and i16 inputs and outputs must be quantized with one scale and one zero point: "
        "the input has no quantization",
    ),
    "many scales": (
        AveragePool2d(),
        [per_channel(1, 4, 4, 2, axis=3)],
        int8(1, 2, 2, 2),
        "i8 and i16 inputs and outputs must be quantized with one scale and one zero point: "
        "the input has 2 scales",
    ),
    "asymmetric weights": (
        Conv2d(),
        [X, int8(3, 3, 3, 2, zero_point=4)],
        Y,
        "i8 and i16 weights must have zero point 0 and one scale, or one scale for each output channel: "
        "zero point 4",
    ),
    "axis of weights": (
        Conv2d(),
        [X, per_channel(3, 3, 3, 2, axis=3)],
        Y,
        "i8 and i16 weights must have zero point 0 and one scale, or one scale for each output channel: "
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
        "input and output must have the same quantization: "
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
        [X, int8(1, 1, 1, 3)],
        X,
        "the inputs must have the same shape, or be repeated along dimensions that are 1 or missing: "
        "1x4x4x2 and 1x1x1x3",
    ),
    "product scales": (
        Mul(),
        [int8(4, scale=1e3), int8(4, scale=1e2)],
        int8(4, scale=0.01),
        "the product of the input scales must be below 2**13 times the output scale: it is 1e+07",
    ),
    "rescaling": (
        Clamp(),
        [int8(4, scale=1e5)],
        int8(4, scale=0.01),
        "the input scale must be less than 2**20 times the output scale: it is 1e+07 times as large",
    ),
    "alpha": (LeakyRelu(-2e3), [int8(4)], int8(4), "alpha must be between -1024 and 1024: it is -2000.0"),
    "unary_math scale": (
        Tanh(),
        [int8(4, scale=9.0)],
        int8(4, scale=1 / 128),
        "the scale of an i8 input must be between 2**-27 and 8: it is 9",
    ),
    "unary_math output": (
        Logistic(),
        [int8(4)],
        int8(4),
        "an i8 output must have scale 1/256 and zero point -128: it has scale 0.05, zero point 0",
    ),
    "conversion": (
        Quantize(DType.I64),
        [float32(4)],
        TensorType(DType.I64, (4,)),
        "elements must be f32 or i8 or u8 or i16 or i32 and become i8 or u8 or i16 or i32: "
        "f32 would become i64",
    ),
    "conversion quantisation": (
        Dequantize(),
        [TensorType(DType.I8, (4,))],
        float32(4),
        "integer tensors must have one scale and one zero point: the input has no scales",
    ),
    "conversion scales": (
        Quantize(),
        [int8(4, scale=1e5)],
        int8(4, scale=0.01),
        "the input scale must be less than 2**14 times the output scale, of i32 less than it: "
        "it is 1e+07 times as large",
    ),
    "matrices": (
        BatchMatmul(),
        [int8(1, 2, 3, 4), int8(1, 3, 4, 2)],
        int8(1, 3, 3, 2),
        "matrices must fit, and their number must be equal, or 1 for one operand, or for the first a "
        "multiple of the second: 1x2x3x4 and 1x3x4x2",
    ),
    "recurrent types": (
        Recurrent(Cell.RNN),
        [int8(1, 2, 1, 3), int8(1, 9)],
        float32(1, 2, 1, 3),
        "all must be f32, or gates and cell i16, weights i8 and hidden values i8 or i16: i8, i8",
    ),
    "recurrent scales": (
        Recurrent(gives_cell=True),
        [_GATES, int8(4, 1), None, None, int8(1, 1), _CELL],
        int16(1, 1, 1, 2),
        "integers are supported for LSTMs with the usual activations that return the cell; the scale of "
        "gates must be 2**-12, of the cell a power of two from 2**-16 to 2**-8: the gates' is 0.0005",
    ),
    "recurrent integers": (
        Recurrent(clip=1.0),
        [_GATES, int8(4, 1), None, None, int8(1, 1), _CELL],
        int16(1, 1, 1, 1),
        "integers are supported for LSTMs with the usual activations that return the cell; the scale of "
        "gates must be 2**-12, of the cell a power of two from 2**-16 to 2**-8: "
        "it is a lstm with other activations or limits",
    ),
    "recurrent sequence": (
        Recurrent(),
        [float32(1, 2, 1, 6), float32(1, 4)],
        float32(1, 2, 1, 1),
        "x must be [1, steps, sequences, gates times units]: 1x2x1x6",
    ),
    "recurrent vectors": (
        Recurrent(),
        [float32(1, 2, 1, 8), float32(1, 8)],
        float32(1, 2, 1, 2),
        "weights, biases and states must be vectors that fit the units: r has shape 1x8, not 1x16",
    ),
    "recurrent bias": (
        Recurrent(Cell.GRU_RESET_AFTER),
        [float32(1, 2, 1, 3), float32(1, 3)],
        float32(1, 2, 1, 1),
        "weights, biases and states must be vectors that fit the units: there is no b",
    ),
    "recurrent activations": (
        Recurrent(Cell.GRU, activations=("tanh",)),
        [float32(1, 2, 1, 3), float32(1, 3)],
        float32(1, 2, 1, 1),
        "each activation must be known, and their number must be that of the cell: they are tanh of 2",
    ),
    "recurrent cells": (
        Recurrent(Cell.GRU, cell_clip=1.0),
        [float32(1, 2, 1, 3), float32(1, 3)],
        float32(1, 2, 1, 1),
        "only the cell of an LSTM may be an output, clipped or tied to its input gate: it is a gru",
    ),
    "mean axes": (Mean((3,)), [X], X, "the axes must be rows, columns or both: they are [3]"),
    "mean scale": (
        Mean(),
        [X],
        int8(1, 1, 1, 2, scale=1e-8),
        "the input scale must be more than 2**-20 and less than 2**20 (i16: 2**12) times the output scale: "
        "it is 5e+06 times as large",
    ),
    "mean count": (
        Mean(),
        [int8(1, 2049, 2048, 1)],
        int8(1, 1, 1, 1),
        "a mean must be of at most 2**22 elements (i16: 2**14): there are 4196352",
    ),
    "padding value": (
        Pad(((1, 0), (0, 0)), 128.0),
        [X],
        int8(1, 5, 4, 2),
        "the element type must be able to hold the value: it is 128.0",
    ),
    "concatenation of nothing": (Concat(1), [], X, "there must be at least one input: it has 0"),
    "concatenation types": (
        Concat(1),
        [int8(1, 2), float32(1, 2)],
        int8(1, 4),
        "inputs and output must have one element type: they are i8, f32, i8",
    ),
    "concatenation axis": (
        Concat(0),
        [X],
        X,
        "the axis must be rows, columns or channels of images, the last, or the first larger than 1: "
        "axis 0 of shape 1x4x4x2",
    ),
    "concatenation shapes": (
        Concat(3),
        [X, int8(1, 4, 3, 2)],
        X,
        "inputs must have the same shape except along the axis: they have shapes 1x4x4x2, 1x4x3x2",
    ),
    "rearranged type": (
        Rearrange((1, 2), (2,), (1,)),
        [int8(1, 2)],
        float32(1, 2),
        "the element type must stay the same: i8 would become f32",
    ),
    "rearranged beyond": (
        Rearrange((1, 2), (2,), (2,), 1),
        [int8(1, 3)],
        int8(1, 2),
        "no element outside the input may be read: elements 1 to 3 of 3",
    ),
    "table": (
        Lookup(),
        [int8(4), int8(255)],
        int8(4),
        "the table must have 256 elements of the output's type: it is i8 255",
    ),
    "lookup types": (
        Lookup(),
        [float32(4), int8(256)],
        int8(4),
        "input and output elements must be i8 or u8: they are f32, i8",
    ),
    "add types": (
        Add(),
        [X, float32(1, 4, 4, 2)],
        X,
        "both inputs must have the same element type: i8 and f32",
    ),
    "add of plain integers": (
        Add(),
        [WIDE, WIDE],
        WIDE,
        "if one of inputs and output is quantized, all must be, with one scale and one zero point, "
        "which is 0 for i16, and they must not be i32 or i64: i32 has a scale",
    ),
    "add scales": (
        Add(),
        [int8(4, scale=1e4), int8(4)],
        int8(4, scale=0.01),
        "the larger input scale must be less than 2**19 times the output scale (i16: 2**14 times): "
        "it is 1e+06 times as large",
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
        "an i8 output must have scale 1/256 and zero point -128, an i16 output 1/65536 and -32768, "
        "or 1/32768 and 0 if the input is i16: "
        "scale 0.05, zero point 0",
    ),
    "length": (
        Softmax(),
        [int8(2, 4096)],
        int8(2, 4096, scale=1 / 256, zero_point=-128),
        "an input must have at most 4095 elements along the last axis (i16: 2**16): there are 4096",
    ),
    "resolution": (
        Softmax(beta=1e-9),
        [int8(1, 4)],
        int8(1, 4, scale=1 / 256, zero_point=-128),
        "beta * input scale must be at least 2**-26 for i8 inputs; for i16 below 4, and the zero point 0: "
        "it is 5e-11",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_limit_says_what_and_how(name: str) -> None:
    op, inputs, output, message = CASES[name]
    assert violations(op, inputs, [output]) == [message]


def test_what_keeps_the_limits_is_let_through() -> None:
    assert violations(Conv2d(), [X, per_channel(3, 3, 3, 2, axis=0), B], [Y]) == []
