"""Writes each canonical op as TFLite operators. Writers return why a node cannot be written, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import tflite

from aot.frontend.tflite.picks import PICKS
from aot.frontend.tflite.write_file import Fields, Sheet, Writer, input_of, view
from aot.ir.graph import Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import BinaryOp
from aot.ops.combine import Combination, Combine
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.l2_norm import L2Norm
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import Mean
from aot.ops.pad import Pad
from aot.ops.reduce import Reduce, Reduction
from aot.ops.resize import Resize
from aot.ops.softmax import Softmax
from aot.ops.spatial import NO_PADDING, Padding, Pair, same_padding
from aot.ops.unary import Clamp, LeakyRelu
from aot.ops.unary_math import MathFunction, UnaryMath

ACTIVATIONS = {
    Activation.NONE: tflite.ActivationFunctionType.NONE,
    Activation.FINITE: tflite.ActivationFunctionType.NONE,
    Activation.RELU: tflite.ActivationFunctionType.RELU,
    Activation.RELU6: tflite.ActivationFunctionType.RELU6,
    Activation.RELU_N1_TO_1: tflite.ActivationFunctionType.RELU_N1_TO_1,
}


_UNSIGNED = "its bytes are unsigned in the file"
_REDUCTIONS = {Reduction.SUM: "SUM", Reduction.MAXIMUM: "REDUCE_MAX", Reduction.MINIMUM: "REDUCE_MIN"}
_MATH = {
    MathFunction.ABS: "ABS",
    MathFunction.COS: "COS",
    MathFunction.EXP: "EXP",
    MathFunction.LOG: "LOG",
    MathFunction.NEGATE: "NEG",
    MathFunction.RSQRT: "RSQRT",
    MathFunction.SIN: "SIN",
    MathFunction.SQRT: "SQRT",
    MathFunction.SQUARE: "SQUARE",
}


def _plain(code: str, version: int = 1, options: str = "") -> Writer:
    """Returns a writer for an operator without attributes."""

    def write(sheet: Sheet, node: Node) -> None:
        inputs = [sheet.value(name) for name in node.inputs if name is not None]
        sheet.operator(code, version, inputs, sheet.value(node.outputs[0]), options)

    return write


def _reshape(sheet: Sheet, node: Node) -> None:
    output = node.outputs[0]
    view(sheet, sheet.value(input_of(node)), sheet.value(output), sheet.type(output).shape)


def _binary(code: str, options: str) -> Writer:
    def write(sheet: Sheet, node: Node) -> str | None:
        op = node.op_as(BinaryOp)
        if op.activation not in ACTIVATIONS:
            return f"its activation {op.activation.value}"
        inputs = [sheet.value(name) for name in node.inputs if name is not None]
        number = ACTIVATIONS[op.activation]
        output = sheet.value(node.outputs[0])
        sheet.operator(code, 2, inputs, output, options, FusedActivationFunction=number)
        return None

    return write


def _clamp(sheet: Sheet, node: Node) -> str | None:
    op = node.op_as(Clamp)
    code = {Activation.RELU: "RELU", Activation.RELU6: "RELU6"}.get(op.activation)
    x, y = sheet.type(input_of(node)), sheet.type(node.outputs[0])
    if code is None or (code == "RELU6" and x.quant != y.quant):
        return f"{op.activation.value} as a separate operator"
    sheet.operator(code, 2, (sheet.value(input_of(node)),), sheet.value(node.outputs[0]))
    return None


def _leaky_relu(sheet: Sheet, node: Node) -> None:
    x, y = sheet.value(input_of(node)), sheet.value(node.outputs[0])
    sheet.operator("LEAKY_RELU", 2, (x,), y, "LeakyReluOptions", Alpha=node.op_as(LeakyRelu).alpha)


def _softmax(sheet: Sheet, node: Node) -> None:
    x, y = sheet.value(input_of(node)), sheet.value(node.outputs[0])
    sheet.operator("SOFTMAX", 2, (x,), y, "SoftmaxOptions", Beta=node.op_as(Softmax).beta)


def _concat(sheet: Sheet, node: Node) -> str | None:
    names = [name for name in node.inputs if name is not None]
    output = node.outputs[0]
    if any(sheet.type(name).quant != sheet.type(output).quant for name in names):
        return "its parts and its result have different scales"
    inputs = [sheet.value(name) for name in names]
    sheet.operator(
        "CONCATENATION", 2, inputs, sheet.value(output), "ConcatenationOptions", Axis=node.op_as(Concat).axis
    )
    return None


def _l2_norm(sheet: Sheet, node: Node) -> str | None:
    if node.op_as(L2Norm).is_unsigned:
        return _UNSIGNED
    x, y = sheet.value(input_of(node)), sheet.value(node.outputs[0])
    sheet.operator("L2_NORMALIZATION", 2, (x,), y, "L2NormOptions")
    return None


def _mean(sheet: Sheet, node: Node) -> None:
    axes = sheet.integers(f"{node.name}/axes", node.op_as(Mean).axes)
    x, y = sheet.value(input_of(node)), sheet.value(node.outputs[0])
    sheet.operator("MEAN", 2, (x, axes), y, "ReducerOptions", KeepDims=True)


def _pad(sheet: Sheet, node: Node) -> None:
    op = node.op_as(Pad)
    _padded(sheet, node, input_of(node), sheet.value(node.outputs[0]), op.padding, op.value)


def _padded(sheet: Sheet, node: Node, x: str, target: int, padding: Padding, value: float) -> None:
    tensor = sheet.type(x)
    amounts = sheet.integers(f"{node.name}/padding", np.array([(0, 0), *padding, (0, 0)]))
    one = TensorType(tensor.dtype, (1,), tensor.quant)
    fill = sheet.tensor(f"{node.name}/fill", one, np.array([value]).astype(tensor.dtype.numpy))
    sheet.operator("PADV2", 2, (sheet.value(x), amounts, fill), target, "PadV2Options")


def _batch_matmul(sheet: Sheet, node: Node) -> str | None:
    op = node.op_as(BatchMatmul)
    x, y = (sheet.type(input_of(node, number)) for number in (0, 1))
    if 1 != y.shape[1] != x.shape[1] != 1:
        return f"{x.shape[1]} matrices share {y.shape[1]}"
    inputs = [sheet.value(input_of(node, number)) for number in (0, 1)]
    turned = {"AdjX": op.x_transposed, "AdjY": op.y_transposed}
    sheet.operator("BATCH_MATMUL", 4, inputs, sheet.value(node.outputs[0]), "BatchMatMulOptions", **turned)
    return None


def _combine(sheet: Sheet, node: Node) -> str | None:
    op = node.op_as(Combine)
    code = {Combination.MAXIMUM: "MAXIMUM", Combination.MINIMUM: "MINIMUM"}.get(op.by)
    if code is None:
        return f"{op.by.value} of two tensors"
    inputs = [sheet.value(input_of(node, number)) for number in (0, 1)]
    sheet.operator(code, 2, inputs, sheet.value(node.outputs[0]), "MaximumMinimumOptions")
    return None


def _reduce(sheet: Sheet, node: Node) -> str | None:
    """Writes a reduction. Quantized sums are rounded differently."""
    op = node.op_as(Reduce)
    code = _REDUCTIONS.get(op.by)
    if code is None or (op.by is Reduction.SUM and sheet.type(input_of(node)).dtype is not DType.F32):
        return f"{op.by.value} of {sheet.type(input_of(node)).dtype.value}"
    axes = sheet.integers(f"{node.name}/axes", op.axes)
    x, y = sheet.value(input_of(node)), sheet.value(node.outputs[0])
    sheet.operator(code, 2, (x, axes), y, "ReducerOptions", KeepDims=True)
    return None


def _unary_math(sheet: Sheet, node: Node) -> str | None:
    op = node.op_as(UnaryMath)
    found = _MATH.get(op.of)
    if found is None or sheet.type(input_of(node)).dtype is not DType.F32:
        return f"{op.of.value} of {sheet.type(input_of(node)).dtype.value}"
    sheet.operator(found, 1, (sheet.value(input_of(node)),), sheet.value(node.outputs[0]))
    return None


def _resize(sheet: Sheet, node: Node) -> str | None:
    op = node.op_as(Resize)
    if op.is_unsigned:
        return _UNSIGNED
    size = sheet.integers(f"{node.name}/size", op.size)
    x, y = sheet.value(input_of(node)), sheet.value(node.outputs[0])
    sheet.operator(
        "RESIZE_BILINEAR", 3, (x, size), y, "ResizeBilinearOptions",
        AlignCorners=op.align_corners, HalfPixelCenters=op.half_pixels,
    )  # fmt: skip
    return None


def _window(
    sheet: Sheet, node: Node, size: Pair, stride: Pair, dilation: Pair, padding: Padding, fill: float
) -> tuple[int, int]:
    """Returns (tensor of the image, padding's number); padding that is neither SAME nor VALID is explicit."""
    x = input_of(node)
    tensor = sheet.type(x)
    lengths = zip(tensor.shape[1:3], size, stride, dilation, strict=True)
    if padding == NO_PADDING:
        return sheet.value(x), int(tflite.Padding.VALID)
    if padding == tuple(same_padding(*each) for each in lengths):
        return sheet.value(x), int(tflite.Padding.SAME)
    (top, bottom), (left, right) = padding
    n, height, width, channels = tensor.shape
    whole = TensorType(tensor.dtype, (n, height + top + bottom, width + left + right, channels), tensor.quant)
    target = sheet.tensor(f"{node.name}/padded", whole)
    _padded(sheet, node, x, target, padding, fill)
    return target, int(tflite.Padding.VALID)


def _zero_point(tensor: TensorType) -> float:
    return 0.0 if tensor.quant is None else float(tensor.quant.zero_points[0])


Stored = tuple[TensorType, Array]
Storing = Callable[[TensorType, Array], Stored | None]  # how weights are stored; None: they cannot be


def as_they_are(w: TensorType, data: Array) -> Stored | None:
    return (w, data) if w.dtype in (DType.I8, DType.F32) else None


def conv2d_writer(storing: Storing) -> Writer:
    def write(sheet: Sheet, node: Node) -> str | None:
        op, w, data = node.op_as(Conv2d), sheet.type(input_of(node, 1)), sheet.array(input_of(node, 1))
        stored = None if data is None else storing(w, data)
        return _layer(sheet, node, op, (w.shape[1], w.shape[2]), stored)

    return write


def depthwise_writer(storing: Storing) -> Writer:
    def write(sheet: Sheet, node: Node) -> str | None:
        op, stored, data = (
            node.op_as(DepthwiseConv2d),
            sheet.type(input_of(node, 1)),
            sheet.array(input_of(node, 1)),
        )
        if data is None:
            return "its weights are not constant"
        quant = stored.quant
        if quant is not None and quant.axis is not None:
            quant = Quant(quant.scales, quant.zero_points, 3)
        w = TensorType(stored.dtype, (1, *stored.shape), quant)
        return _layer(sheet, node, op, (stored.shape[0], stored.shape[1]), storing(w, data[None]))

    return write


def _layer(
    sheet: Sheet, node: Node, op: Conv2d | DepthwiseConv2d, size: Pair, stored: Stored | None
) -> str | None:
    if stored is None:
        return "its weights are not constants of int8 or float32"
    w, data = stored
    if op.activation not in ACTIVATIONS:
        return f"its activation {op.activation.value}"
    if op.scales_in_single:
        return _UNSIGNED
    fill = _zero_point(sheet.type(input_of(node)))
    x, padding = _window(sheet, node, size, op.stride, op.dilation, op.padding, fill)
    weights = sheet.tensor(input_of(node, 1), w, data)
    is_depthwise = isinstance(op, DepthwiseConv2d)
    channels = w.shape[3 if is_depthwise else 0]
    fields: dict[str, Fields] = {"DepthMultiplier": op.multiplier} if isinstance(op, DepthwiseConv2d) else {}
    sheet.operator(
        "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D",
        3,
        (x, weights, bias_of(sheet, node, w, channels)),
        sheet.value(node.outputs[0]),
        "DepthwiseConv2DOptions" if is_depthwise else "Conv2DOptions",
        Padding=padding,
        StrideH=op.stride[0],
        StrideW=op.stride[1],
        DilationHFactor=op.dilation[0],
        DilationWFactor=op.dilation[1],
        FusedActivationFunction=ACTIVATIONS[op.activation],
        **fields,
    )
    return None


def _dense(sheet: Sheet, node: Node) -> str | None:
    op = node.op_as(Dense)
    w, data = sheet.type(input_of(node, 1)), sheet.array(input_of(node, 1))
    if data is None or w.dtype not in (DType.I8, DType.F32):
        return "its weights are not constants of int8 or float32"
    if op.activation not in ACTIVATIONS:
        return f"its activation {op.activation.value}"
    weights, bias = sheet.tensor(input_of(node, 1), w, data), bias_of(sheet, node, w, w.shape[0])
    sheet.operator(
        "FULLY_CONNECTED",
        4,
        (sheet.value(input_of(node)), weights, bias),
        sheet.value(node.outputs[0]),
        "FullyConnectedOptions",
        FusedActivationFunction=ACTIVATIONS[op.activation],
    )
    return None


def bias_of(sheet: Sheet, node: Node, w: TensorType, channels: int) -> int:
    """Adds the bias in units of input scale * weight scale; zeros without a bias."""
    x, name = sheet.type(input_of(node)), node.inputs[2] if len(node.inputs) > 2 else None
    dtype = {DType.I8: DType.I32, DType.I16: DType.I64}.get(x.dtype, DType.F32)
    given = None if name is None else sheet.array(name)
    data = np.zeros(channels, dtype.numpy) if given is None else given
    quant = None
    if x.quant is not None and w.quant is not None:
        steps = tuple(float(np.float32(x.quant.scales[0] * scale)) for scale in w.quant.scales)
        quant = Quant(steps, (0,) * len(steps), 0 if len(steps) > 1 else None)
    stored = TensorType(dtype if given is None else sheet.type(name or "").dtype, (channels,), quant)
    return sheet.tensor(f"{node.name}/bias", stored, data)


def _pool(code: str) -> Writer:
    def write(sheet: Sheet, node: Node) -> str | None:
        op, tensor = node.op, sheet.type(input_of(node))
        assert isinstance(op, AveragePool2d | MaxPool2d)
        if op.activation not in ACTIVATIONS:
            return f"its activation {op.activation.value}"
        if isinstance(op, AveragePool2d) and op.halves is not Halves.AWAY:
            return f"its rounding of halves {op.halves.value}"
        least = -np.inf if tensor.dtype is DType.F32 else tensor.dtype.limits[0]
        x, padding = _window(sheet, node, op.size, op.stride, (1, 1), op.padding, float(least))
        if isinstance(op, AveragePool2d) and x != sheet.value(input_of(node)):
            return f"its padding {op.padding}"  # pixels beyond the edge are ignored
        sheet.operator(
            code,
            2,
            (x,),
            sheet.value(node.outputs[0]),
            "Pool2DOptions",
            Padding=padding,
            StrideH=op.stride[0],
            StrideW=op.stride[1],
            FilterHeight=op.size[0],
            FilterWidth=op.size[1],
            FusedActivationFunction=ACTIVATIONS[op.activation],
        )
        return None

    return write


WRITERS: Mapping[str, Writer] = {
    **PICKS,
    "add": _binary("ADD", "AddOptions"),
    "average_pool2d": _pool("AVERAGE_POOL_2D"),
    "batch_matmul": _batch_matmul,
    "clamp": _clamp,
    "combine": _combine,
    "concat": _concat,
    "conv2d": conv2d_writer(as_they_are),
    "dense": _dense,
    "depthwise_conv2d": depthwise_writer(as_they_are),
    "dequantize": _plain("DEQUANTIZE", 2, "DequantizeOptions"),
    "div": _binary("DIV", "DivOptions"),
    "hard_swish": _plain("HARD_SWISH", 1, "HardSwishOptions"),
    "l2_norm": _l2_norm,
    "leaky_relu": _leaky_relu,
    "log_softmax": _plain("LOG_SOFTMAX", 2, "LogSoftmaxOptions"),
    "logistic": _plain("LOGISTIC", 2),
    "max_pool2d": _pool("MAX_POOL_2D"),
    "mean": _mean,
    "mul": _binary("MUL", "MulOptions"),
    "pad": _pad,
    "quantize": _plain("QUANTIZE", 1, "QuantizeOptions"),
    "reduce": _reduce,
    "reshape": _reshape,
    "resize": _resize,
    "softmax": _softmax,
    "sub": _binary("SUB", "SubOptions"),
    "tanh": _plain("TANH", 2),
    "unary_math": _unary_math,
}
