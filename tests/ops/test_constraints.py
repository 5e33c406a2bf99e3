"""Each limit of each op refuses what it should, with the limit and the numbers found."""

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
_LSTM = [_GATES, int8(4, 1), None, None, int8(1, 1), _CELL]
_F = float32
# An op, its inputs and output, and the facts of the message: words of the limit, and the numbers found.
CASES: tuple[tuple[Op, list[TensorType | None], TensorType, str], ...] = (
    (Conv2d(), [X], Y, "2 to 3 inputs one output 1"),
    (Conv2d(), [X, None, B], Y, "2 to 3 inputs one output 3"),
    (Softmax(), [U8], U8, "elements f32 i16 i8 results u8 become u8"),
    (Softmax(), [X], _F(1), "elements f32 i16 i8 results i8 become f32"),
    (
        Conv2d(),
        [_F(1, 4, 4, 2), int8(3, 3, 3, 2)],
        _F(1, 2, 2, 3),
        "weights i8 or i16 input f32 is f32 are i8",
    ),
    (HybridDense(), [_F(1, 4), _F(3, 4)], _F(1, 3), "weights i8 f32"),
    (HybridDense(), [_F(1, 65_794), int8(3, 65_794)], _F(1, 3), "row 65,793 elements 32 bits 65794"),
    (Conv2d(), [X, W, int8(3)], Y, "bias i32 or i64 integer f32 input is i8 bias is i8"),
    (Conv2d(), [X, W, TensorType(DType.I32, (2,))], Y, "bias 1-d output channel shape 2 3 channels"),
    (Conv2d(), [int8(4, 4, 2), W], Y, "input 4 dimensions 4x4x2"),
    (Conv2d(), [int8(2, 4, 4, 2), W], Y, "batch 1 2x4x4x2"),
    (Conv2d(), [int8(1, 4, 4, 4), W], Y, "4-d channels groups input has 4 channels weights 2"),
    (Conv2d(), [int8(1, 2, 4, 2), W], Y, "window fit padded image 0 rows 2 columns"),
    (AveragePool2d(), [PLAIN], PLAIN, "i8 i16 quantized one scale zero point no quantization"),
    (AveragePool2d(), [per_channel(1, 4, 4, 2, axis=3)], int8(1, 2, 2, 2), "one scale zero point 2 scales"),
    (Conv2d(), [X, int8(3, 3, 3, 2, zero_point=4)], Y, "weights zero point 0 one scale channel point 4"),
    (Conv2d(), [X, per_channel(3, 3, 3, 2, axis=3)], Y, "weights one scale channel dimension 3 3x3x3x2"),
    (
        Dense(),
        [int8(1, 4, scale=1e9), int8(2, 4, scale=100.0)],
        int8(1, 2, scale=0.01),
        "input scale * weight scale / output scale 2**30 1e+13",
    ),
    (
        DepthwiseConv2d(multiplier=2),
        [X, int8(3, 3, 5)],
        int8(1, 2, 2, 5),
        "multiplier channels input 2 channels multiplier is 2 weights 5",
    ),
    (Dense(), [int8(1, 4), int8(2, 5)], int8(1, 2), "weights 2-d rows input 4 elements weights 5"),
    (AveragePool2d(), [X], int8(1, 2, 2, 2, scale=0.06), "same quantization scale 0.05 become scale 0.06"),
    (AveragePool2d(padding=((2, 0), (0, 0))), [X], int8(1, 3, 2, 2), "padding smaller window 2 2 and 0"),
    (Add(), [X, int8(1, 1, 1, 3)], X, "same shape repeated dimensions 1 1x4x4x2 and 1x1x1x3"),
    (
        Mul(),
        [int8(4, scale=1e3), int8(4, scale=1e2)],
        int8(4, scale=0.01),
        "product input scales 2**13 output scale 1e+07",
    ),
    (Clamp(), [int8(4, scale=1e5)], int8(4, scale=0.01), "input scale 2**20 output scale 1e+07"),
    (LeakyRelu(-2e3), [int8(4)], int8(4), "alpha -1024 1024 -2000.0"),
    (Tanh(), [int8(4, scale=9.0)], int8(4, scale=1 / 128), "scale i8 input 2**-27 8 9"),
    (Logistic(), [int8(4)], int8(4), "i8 output 1/256 -128 0.05 zero point 0"),
    (Quantize(DType.I64), [_F(4)], TensorType(DType.I64, (4,)), "f32 i8 u8 i16 i32 f32 become i64"),
    (Dequantize(), [TensorType(DType.I8, (4,))], _F(4), "integer tensors one scale zero point no scales"),
    (Quantize(), [int8(4, scale=1e5)], int8(4, scale=0.01), "input scale 2**14 output scale i32 1e+07"),
    (
        BatchMatmul(),
        [int8(1, 2, 3, 4), int8(1, 3, 4, 2)],
        int8(1, 3, 3, 2),
        "matrices fit number equal 1 multiple 1x2x3x4 and 1x3x4x2",
    ),
    (
        Recurrent(Cell.RNN),
        [int8(1, 2, 1, 3), int8(1, 9)],
        _F(1, 2, 1, 3),
        "f32 gates cell i16 weights i8 hidden i8 i8",
    ),
    (Recurrent(gives_cell=True), _LSTM, int16(1, 1, 1, 2), "LSTMs 2**-12 2**-16 2**-8 gates' is 0.0005"),
    (Recurrent(clip=1.0), _LSTM, int16(1, 1, 1, 1), "LSTMs cell 2**-12 lstm with other activations limits"),
    (Recurrent(), [_F(1, 2, 1, 6), _F(1, 4)], _F(1, 2, 1, 1), "x [1 steps gates units] 1x2x1x6"),
    (Recurrent(), [_F(1, 2, 1, 8), _F(1, 8)], _F(1, 2, 1, 2), "weights biases states vectors r 1x8 1x16"),
    (
        Recurrent(Cell.GRU_RESET_AFTER),
        [_F(1, 2, 1, 3), _F(1, 3)],
        _F(1, 2, 1, 1),
        "weights biases states vectors no b",
    ),
    (
        Recurrent(Cell.GRU, activations=("tanh",)),
        [_F(1, 2, 1, 3), _F(1, 3)],
        _F(1, 2, 1, 1),
        "activation number cell tanh of 2",
    ),
    (
        Recurrent(Cell.GRU, cell_clip=1.0),
        [_F(1, 2, 1, 3), _F(1, 3)],
        _F(1, 2, 1, 1),
        "cell LSTM output clipped tied input gate gru",
    ),
    (Mean((3,)), [X], X, "axes rows columns [3]"),
    (Mean(), [X], int8(1, 1, 1, 2, scale=1e-8), "input scale 2**-20 2**20 2**12) output scale 5e+06"),
    (Mean(), [int8(1, 2049, 2048, 1)], int8(1, 1, 1, 1), "mean 2**22 elements 2**14) 4196352"),
    (Pad(((1, 0), (0, 0)), 128.0), [X], int8(1, 5, 4, 2), "element type hold value 128.0"),
    (Concat(1), [], X, "at least one input 0"),
    (Concat(1), [int8(1, 2), _F(1, 2)], int8(1, 4), "one element type i8 f32 i8"),
    (Concat(0), [X], X, "axis rows columns channels last first larger 1 axis 0 1x4x4x2"),
    (Concat(3), [X, int8(1, 4, 3, 2)], X, "same shape axis 1x4x4x2 1x4x3x2"),
    (Rearrange((1, 2), (2,), (1,)), [int8(1, 2)], _F(1, 2), "element type same i8 become f32"),
    (Rearrange((1, 2), (2,), (2,), 1), [int8(1, 3)], int8(1, 2), "outside input elements 1 to 3 of 3"),
    (Lookup(), [int8(4), int8(255)], int8(4), "table 256 elements output's type i8 255"),
    (Lookup(), [_F(4), int8(256)], int8(4), "input output i8 or u8 f32 i8"),
    (Add(), [X, _F(1, 4, 4, 2)], X, "both inputs same element type i8 and f32"),
    (Add(), [WIDE, WIDE], WIDE, "quantized all one scale zero point 0 for i16 not i64 i32 has a scale"),
    (
        Add(),
        [int8(4, scale=1e4), int8(4)],
        int8(4, scale=0.01),
        "larger input scale 2**19 output scale 2**14 1e+06",
    ),
    (Reshape((5,)), [int8(4)], int8(5), "number elements same 4 become 5"),
    (Reshape((4,)), [int8(4)], _F(4), "element type same i8 become f32"),
    (Softmax(), [int8(1, 4)], int8(1, 4), "1/256 -128 i16 1/65536 -32768 1/32768 0.05 zero point 0"),
    (
        Softmax(),
        [int8(2, 4096)],
        int8(2, 4096, scale=1 / 256, zero_point=-128),
        "4095 elements last axis 2**16) 4096",
    ),
    (
        Softmax(beta=1e-9),
        [int8(1, 4)],
        int8(1, 4, scale=1 / 256, zero_point=-128),
        "beta * input scale 2**-26 i8 i16 4 zero point 0 5e-11",
    ),
)


@pytest.mark.parametrize(
    ("op", "inputs", "output", "facts"), CASES, ids=[f"{type(c[0]).__name__}: {c[3]}" for c in CASES]
)
def test_a_broken_limit_says_what_and_how(op, inputs, output, facts):
    [message] = violations(op, inputs, [output])
    assert not [fact for fact in facts.split() if fact not in message], message


def test_what_keeps_the_limits_is_let_through():
    assert violations(Conv2d(), [X, per_channel(3, 3, 3, 2, axis=0), B], [Y]) == []
