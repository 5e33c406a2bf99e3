"""Operators on single elements, and SOFTMAX."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.row_lists import keep_rows
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.convert import Convert
from aot.ops.l2_norm import L2Norm
from aot.ops.log_softmax import LogSoftmax
from aot.ops.lookup import Lookup
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rounding import scales_in_single
from aot.ops.softmax import Softmax
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh
from aot.ops.unary_math import MathFunction, UnaryMath


def _without_attributes(op: Op) -> Importer:
    def import_it(draft: TfliteDraft, operator: TfliteOperator) -> None:
        draft.add_node(operator, op, operator.inputs, read.the_output(operator))

    return import_it


def _import_relu6(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports RELU6. TFLite Micro keeps the stored number, whatever the output's scale; LiteRT rescales."""
    x, output = read.operand(operator, 0, "the data"), read.the_output(operator)
    stored, declared = draft.types[x], draft.types[output]
    op = Clamp(Activation.RELU6)
    if draft.rounding != "tflm" or stored.quant == declared.quant:
        draft.add_node(operator, op, (x,), output)
        return
    if stored.dtype is not DType.I8:
        raise operator.fail(
            "input and output must have the same quantization",
            "convert the model again: RELU6 keeps its scale",
        )
    _import_table(draft, operator, op, x, output)


def _import_negation(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Negates; i8 with one scale and zero point 0 negates the stored number."""
    x, output = read.operand(operator, 0, "the data"), read.the_output(operator)
    stored, declared = draft.types[x], draft.types[output]
    if stored.dtype is not DType.I8 or stored.quant is None:
        draft.add_node(operator, UnaryMath(MathFunction.NEGATE), (x,), output)
        return
    if stored.quant != declared.quant or any(stored.quant.zero_points):
        raise operator.fail(
            "stored i8 values can be negated only if input and output have the same scale and zero point 0",
            "convert the model again with a symmetric scale, or this part as float",
        )
    _import_table(draft, operator, UnaryMath(MathFunction.NEGATE), x, output)


def _import_table(draft: TfliteDraft, operator: TfliteOperator, op: Op, x: str, output: str) -> None:
    """Tabulates the op for each stored number of its input, at the input's scale."""
    low, high = DType.I8.limits
    every = replace(draft.types[x], shape=(high - low + 1,))
    if isinstance(op, UnaryMath):
        every = replace(every, quant=None)
    (entries,) = op.reference([np.arange(low, high + 1).astype(np.int8)], (every,), (every,))
    table = draft.add_value(f"{operator.label}/table", TensorType(DType.I8, every.shape), entries)
    draft.add_node(operator, Lookup(), (x, table), output)


def _import_leaky_relu(draft: TfliteDraft, operator: TfliteOperator) -> None:
    alpha = float(operator.options(tflite.LeakyReluOptions).Alpha())
    op = LeakyRelu(alpha, scales_in_single(LeakyRelu.name, draft.rounding))
    draft.add_node(operator, op, operator.inputs, read.the_output(operator))


def _import_l2_normalization(draft: TfliteDraft, operator: TfliteOperator) -> None:
    number = operator.options(tflite.L2NormOptions).FusedActivationFunction()
    if number != tflite.ActivationFunctionType.NONE:
        raise operator.fail(
            "a fused activation is not supported",
            "convert the model again: current converters store the activation separately",
        )
    op = L2Norm(is_unsigned=read.operand(operator, 0, "the data") in draft.unsigned)
    draft.add_node(operator, op, operator.inputs, read.the_output(operator))


def _import_quantize(draft: TfliteDraft, operator: TfliteOperator) -> None:
    output = read.the_output(operator)
    draft.add_node(operator, Quantize(draft.types[output].dtype), operator.inputs, output)


def _import_gelu(draft: TfliteDraft, operator: TfliteOperator) -> None:
    approximate = operator.options(tflite.GeluOptions).Approximate()
    op = UnaryMath(MathFunction.GELU_BY_TANH if approximate else MathFunction.GELU)
    draft.add_node(operator, op, operator.inputs, read.the_output(operator))


def _import_cast(draft: TfliteDraft, operator: TfliteOperator) -> None:
    x, output = read.operand(operator, 0, "the data"), read.the_output(operator)
    if draft.types[x].dtype is draft.types[output].dtype:
        keep_rows(draft, x, output)
    draft.add_node(operator, Convert(draft.types[output].dtype), (x,), output)


def _import_dequantize(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports DEQUANTIZE; constants are converted at compile time, and stay constants.

    16-bit float weights became floats when they were read. Integers may have a scale for each channel.
    """
    x, output = read.operand(operator, 0, "the data"), read.the_output(operator)
    if x not in draft.constants:
        draft.add_node(operator, Dequantize(), (x,), output)
        return
    draft.set_constant(operator, output, draft.constants[read.as_floats(draft, x)])
    if read.are_steps(draft, x):
        draft.integers[output] = x


def _import_softmax(draft: TfliteDraft, operator: TfliteOperator) -> None:
    beta = float(operator.options(tflite.SoftmaxOptions).Beta())
    if not (math.isfinite(beta) and beta > 0):
        raise operator.fail(f"beta {beta} must be positive", "get or convert the file again")
    output = read.the_output(operator)
    dtype = draft.types[output].dtype
    result = None if dtype is draft.types[read.operand(operator, 0, "the data")].dtype else dtype
    draft.add_node(operator, Softmax(beta, result), operator.inputs, output)


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
