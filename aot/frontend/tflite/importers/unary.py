"""Operators on single elements, and SOFTMAX."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.row_lists import keep_rows
from aot.frontend.tflite.model_file import CORRUPTED
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


def _import_bitcast(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports BITCAST. Integers become wider or narrower, their lowest part first."""
    x, output = read.operand(operator, 0, "the data"), read.the_output(operator)
    stored, made = draft.types[x].dtype, draft.types[output].dtype
    if DType.BOOL in (stored, made) or draft.types[x].bytes != draft.types[output].bytes:
        raise operator.fail(
            f"{draft.types[x].bytes} bytes of {stored.value} cannot be read as "
            f"{draft.types[output].bytes} bytes of {made.value}"
        )
    if stored is DType.F32:
        x = read.made(draft, operator, Convert(DType.I32, True), x)
    whole = DType.I32 if made is DType.F32 else made
    wide, narrow = draft.types[x].dtype.bytes, whole.bytes
    if wide > narrow:
        x = _parted(draft, operator, x, whole, wide // narrow)
    elif wide < narrow:
        x = _joined(draft, operator, x, whole, narrow // wide)
    x = read.reshaped(draft, operator, x, draft.types[output].shape)
    draft.add_node(
        operator, Convert(made, made is DType.F32 and draft.types[x].dtype is DType.I32), (x,), output
    )


def _parted(draft: TfliteDraft, operator: TfliteOperator, x: str, to: DType, parts: int) -> str:
    """Returns the parts of each element, which get a dimension of their own."""
    column = read.reshaped(draft, operator, x, (draft.types[x].elements, 1))
    shifts = _shifts(draft, operator, draft.types[x].dtype, to, parts)
    shifted = read.made(draft, operator, Combine(Combination.SHIFT_RIGHT), column, shifts)
    return read.made(draft, operator, Convert(to), shifted)


def _joined(draft: TfliteDraft, operator: TfliteOperator, x: str, to: DType, parts: int) -> str:
    """Returns elements that consist of the parts in the last dimension. Parts without signs add up."""
    narrow = draft.types[x].dtype
    rows = read.reshaped(draft, operator, x, (draft.types[x].elements // parts, parts))
    mask = draft.add_value(
        f"{operator.label}/mask",
        TensorType(to, (1, 1)),
        np.full((1, 1), 2 ** (8 * narrow.bytes) - 1, to.numpy),
    )
    widened = read.made(
        draft, operator, Combine(Combination.AND), read.made(draft, operator, Convert(to), rows), mask
    )
    shifts = _shifts(draft, operator, to, narrow, parts)
    shifted = read.made(draft, operator, Combine(Combination.SHIFT_LEFT), widened, shifts)
    return read.made(draft, operator, Reduce(Reduction.SUM, (1,)), shifted)


def _shifts(draft: TfliteDraft, operator: TfliteOperator, dtype: DType, part: DType, parts: int) -> str:
    """Returns by how many bits each part of an element is shifted."""
    bits = 8 * part.bytes * np.arange(parts).reshape(1, parts)
    return draft.add_value(
        f"{operator.label}/shifts", TensorType(dtype, bits.shape), bits.astype(dtype.numpy)
    )


def _import_dequantize(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports DEQUANTIZE; constants are converted at compile time, and stay constants.

    16-bit float weights became floats when they were read. Integers may have a scale for each channel.
    """
    x, output = read.operand(operator, 0, "the data"), read.the_output(operator)
    if x not in draft.constants:
        draft.add_node(operator, Dequantize(), (x,), output)
        return
    stored, declared = draft.types[x], draft.types[output]
    has_scale = stored.dtype is DType.F32 or stored.quant is not None
    if not has_scale or declared != TensorType(DType.F32, stored.shape):
        raise operator.fail(
            f"it makes {declared.dtype.value}{list(declared.shape)} of "
            f"{stored.dtype.value}{list(stored.shape)}; floats of the same shape, and a scale, are needed",
            CORRUPTED,
        )
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
