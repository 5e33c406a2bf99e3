"""Operators on single elements, and SOFTMAX."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.importers.row_lists import keep_rows
from aot.frontend.tflite.model_file import CORRUPTED
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.combine import Combination, Combine
from aot.ops.convert import Convert
from aot.ops.l2_norm import L2Norm
from aot.ops.log_softmax import LogSoftmax
from aot.ops.lookup import Lookup
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.reduce import Reduce, Reduction
from aot.ops.rounding import scales_in_single
from aot.ops.softmax import Softmax
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh
from aot.ops.unary_math import MathFunction, UnaryMath


def _without_attributes(op: Op) -> Importer:
    def import_it(node: TfliteOperator) -> None:
        node.add_node(op, node.inputs, node.the_output)

    return import_it


def _import_relu6(node: TfliteOperator) -> None:
    """Imports RELU6. TFLite Micro keeps the stored number, whatever the output's scale; LiteRT rescales."""
    x, output = node.operand(0, "the data"), node.the_output
    stored, declared = node.tensor(x), node.tensor(output)
    op = Clamp(Activation.RELU6)
    if node.draft.rounding != "tflm" or stored.quant == declared.quant:
        node.add_node(op, (x,), output)
        return
    if stored.dtype is not DType.I8:
        raise node.fail(
            "input and output must have the same quantization",
            "convert the model again: RELU6 keeps its scale",
        )
    _import_table(node, op, x, output)


def _import_negation(node: TfliteOperator) -> None:
    """Negates; i8 with one scale and zero point 0 negates the stored number."""
    x, output = node.operand(0, "the data"), node.the_output
    stored, declared = node.tensor(x), node.tensor(output)
    if stored.dtype is not DType.I8 or stored.quant is None:
        node.add_node(UnaryMath(MathFunction.NEGATE), (x,), output)
        return
    if stored.quant != declared.quant or any(stored.quant.zero_points):
        raise node.fail(
            "stored i8 values can be negated only if input and output have the same scale and zero point 0",
            "convert the model again with a symmetric scale, or this part as float",
        )
    _import_table(node, UnaryMath(MathFunction.NEGATE), x, output)


def _import_table(node: TfliteOperator, op: Op, x: str, output: str) -> None:
    """Tabulates the op for each stored number of its input, at the input's scale."""
    low, high = DType.I8.limits
    every = replace(node.tensor(x), shape=(high - low + 1,))
    if isinstance(op, UnaryMath):
        every = replace(every, quant=None)
    (entries,) = op.reference([np.arange(low, high + 1).astype(np.int8)], (every,), (every,))
    table = node.add_value(f"{node.label}/table", TensorType(DType.I8, every.shape), entries)
    node.add_node(Lookup(), (x, table), output)


def _import_leaky_relu(node: TfliteOperator) -> None:
    alpha = float(node.options(tflite.LeakyReluOptions).Alpha())
    op = LeakyRelu(alpha, scales_in_single(LeakyRelu.name, node.draft.rounding))
    node.add_node(op, node.inputs, node.the_output)


def _import_l2_normalization(node: TfliteOperator) -> None:
    number = node.options(tflite.L2NormOptions).FusedActivationFunction()
    if number != tflite.ActivationFunctionType.NONE:
        raise node.fail(
            "a fused activation is not supported",
            "convert the model again: current converters store the activation separately",
        )
    op = L2Norm(is_unsigned=node.operand(0, "the data") in node.draft.unsigned)
    node.add_node(op, node.inputs, node.the_output)


def _import_quantize(node: TfliteOperator) -> None:
    output = node.the_output
    node.add_node(Quantize(node.tensor(output).dtype), node.inputs, output)


def _import_gelu(node: TfliteOperator) -> None:
    approximate = node.options(tflite.GeluOptions).Approximate()
    op = UnaryMath(MathFunction.GELU_BY_TANH if approximate else MathFunction.GELU)
    node.add_node(op, node.inputs, node.the_output)


def _import_cast(node: TfliteOperator) -> None:
    x, output = node.operand(0, "the data"), node.the_output
    if node.tensor(x).dtype is node.tensor(output).dtype:
        keep_rows(node, x, output)
    node.add_node(Convert(node.tensor(output).dtype), (x,), output)


def _import_bitcast(node: TfliteOperator) -> None:
    """Imports BITCAST. Integers become wider or narrower, their lowest part first."""
    x, output = node.operand(0, "the data"), node.the_output
    stored, made = node.tensor(x).dtype, node.tensor(output).dtype
    if DType.BOOL in (stored, made) or node.tensor(x).bytes != node.tensor(output).bytes:
        raise node.fail(
            f"{node.tensor(x).bytes} bytes of {stored.value} cannot be read as "
            f"{node.tensor(output).bytes} bytes of {made.value}"
        )
    if stored is DType.F32:
        x = node.apply(Convert(DType.I32, True), x)
    whole = DType.I32 if made is DType.F32 else made
    wide, narrow = node.tensor(x).dtype.bytes, whole.bytes
    if wide > narrow:
        x = _parted(node, x, whole, wide // narrow)
    elif wide < narrow:
        x = _joined(node, x, whole, narrow // wide)
    x = node.reshaped(x, node.tensor(output).shape)
    node.add_node(Convert(made, made is DType.F32 and node.tensor(x).dtype is DType.I32), (x,), output)


def _parted(node: TfliteOperator, x: str, to: DType, parts: int) -> str:
    """Returns the parts of each element, which get a dimension of their own."""
    column = node.reshaped(x, (node.tensor(x).elements, 1))
    shifts = _shifts(node, node.tensor(x).dtype, to, parts)
    shifted = node.apply(Combine(Combination.SHIFT_RIGHT), column, shifts)
    return node.apply(Convert(to), shifted)


def _joined(node: TfliteOperator, x: str, to: DType, parts: int) -> str:
    """Returns elements that consist of the parts in the last dimension. Parts without signs add up."""
    narrow = node.tensor(x).dtype
    rows = node.reshaped(x, (node.tensor(x).elements // parts, parts))
    mask = node.add_value(
        f"{node.label}/mask",
        TensorType(to, (1, 1)),
        np.full((1, 1), 2 ** (8 * narrow.bytes) - 1, to.numpy),
    )
    widened = node.apply(Combine(Combination.AND), node.apply(Convert(to), rows), mask)
    shifts = _shifts(node, to, narrow, parts)
    shifted = node.apply(Combine(Combination.SHIFT_LEFT), widened, shifts)
    return node.apply(Reduce(Reduction.SUM, (1,)), shifted)


def _shifts(node: TfliteOperator, dtype: DType, part: DType, parts: int) -> str:
    """Returns by how many bits each part of an element is shifted."""
    bits = 8 * part.bytes * np.arange(parts).reshape(1, parts)
    return node.add_value(f"{node.label}/shifts", TensorType(dtype, bits.shape), bits.astype(dtype.numpy))


def _import_dequantize(node: TfliteOperator) -> None:
    """Imports DEQUANTIZE; constants are converted at compile time, and stay constants.

    16-bit float weights became floats when they were read. Integers may have a scale for each channel.
    """
    x, output = node.operand(0, "the data"), node.the_output
    if x not in node.draft.constants:
        node.add_node(Dequantize(), (x,), output)
        return
    stored, declared = node.tensor(x), node.tensor(output)
    has_scale = stored.dtype is DType.F32 or stored.quant is not None
    if not has_scale or declared != TensorType(DType.F32, stored.shape):
        raise node.fail(
            f"it makes {declared.dtype.value}{list(declared.shape)} of "
            f"{stored.dtype.value}{list(stored.shape)}; floats of the same shape, and a scale, are needed",
            CORRUPTED,
        )
    node.set_constant(output, node.array(node.as_floats(x)))
    if node.are_symmetric_int8(x):
        node.draft.integers[output] = x


def _import_softmax(node: TfliteOperator) -> None:
    beta = float(node.options(tflite.SoftmaxOptions).Beta())
    if not (math.isfinite(beta) and beta > 0):
        raise node.fail(f"beta {beta} must be positive", "get or convert the file again")
    output = node.the_output
    dtype = node.tensor(output).dtype
    result = None if dtype is node.tensor(node.operand(0, "the data")).dtype else dtype
    node.add_node(Softmax(beta, result), node.inputs, output)


_MATH = {
    "ABS": MathFunction.ABS,
    "CEIL": MathFunction.CEIL,
    "COS": MathFunction.COS,
    "ELU": MathFunction.ELU,
    "EXP": MathFunction.EXP,
    "FLOOR": MathFunction.FLOOR,
    "LOG": MathFunction.LOG,
    "LOGICAL_NOT": MathFunction.NOT,
    "ROUND": MathFunction.ROUND,
    "RSQRT": MathFunction.RSQRT,
    "SIGN": MathFunction.SIGN,
    "SIN": MathFunction.SIN,
    "SQRT": MathFunction.SQRT,
    "SQUARE": MathFunction.SQUARE,
}
UNARY: dict[str, Importer] = {
    **{code: _without_attributes(UnaryMath(function)) for code, function in _MATH.items()},
    "BITCAST": _import_bitcast,
    "CAST": _import_cast,
    "DEQUANTIZE": _import_dequantize,
    "GELU": _import_gelu,
    "HARD_SWISH": _without_attributes(HardSwish()),
    "L2_NORMALIZATION": _import_l2_normalization,
    "LEAKY_RELU": _import_leaky_relu,
    "LOGISTIC": _without_attributes(Logistic()),
    "LOG_SOFTMAX": _without_attributes(LogSoftmax()),
    "NEG": _import_negation,
    "QUANTIZE": _import_quantize,
    "RELU": _without_attributes(Clamp(Activation.RELU)),
    "RELU6": _import_relu6,
    "RELU_0_TO_1": _without_attributes(Clamp(Activation.RELU_0_TO_1)),
    "RELU_N1_TO_1": _without_attributes(Clamp(Activation.RELU_N1_TO_1)),
    "SOFTMAX": _import_softmax,
    "TANH": _without_attributes(Tanh()),
}
