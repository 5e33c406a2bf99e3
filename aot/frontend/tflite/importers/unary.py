"""Operators on one element at a time, and SOFTMAX."""

from __future__ import annotations

import math

import tflite

from aot.frontend.tflite.draft import Draft, Importer, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.ops.activation import Activation
from aot.ops.convert import Convert
from aot.ops.curve import Curve, Function
from aot.ops.op import Op
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rounding import scales_in_single
from aot.ops.softmax import Softmax
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh


def _without_attributes(op: Op) -> Importer:
    def import_it(draft: Draft, operator: Operator, mode: str) -> None:
        draft.add_node(operator, op, operator.inputs, read.the_output(operator))

    return import_it


def _import_leaky_relu(draft: Draft, operator: Operator, mode: str) -> None:
    alpha = float(operator.options(tflite.LeakyReluOptions).Alpha())
    op = LeakyRelu(alpha, scales_in_single(LeakyRelu.name, mode))
    draft.add_node(operator, op, operator.inputs, read.the_output(operator))


def _import_quantize(draft: Draft, operator: Operator, mode: str) -> None:
    output = read.the_output(operator)
    draft.add_node(operator, Quantize(draft.types[output].dtype), operator.inputs, output)


def _import_gelu(draft: Draft, operator: Operator, mode: str) -> None:
    approximate = operator.options(tflite.GeluOptions).Approximate()
    op = Curve(Function.GELU_BY_TANH if approximate else Function.GELU)
    draft.add_node(operator, op, operator.inputs, read.the_output(operator))


def _import_cast(draft: Draft, operator: Operator, mode: str) -> None:
    output = read.the_output(operator)
    draft.add_node(operator, Convert(draft.types[output].dtype), operator.inputs, output)


def _import_softmax(draft: Draft, operator: Operator, mode: str) -> None:
    beta = float(operator.options(tflite.SoftmaxOptions).Beta())
    if not (math.isfinite(beta) and beta > 0):
        raise operator.fail(f"beta {beta} must be positive", "get or convert the file again")
    output = read.the_output(operator)
    dtype = draft.types[output].dtype
    result = None if dtype is draft.types[read.operand(operator, 0, "the data")].dtype else dtype
    draft.add_node(operator, Softmax(beta, result), operator.inputs, output)


_CURVES = {
    "ABS": Function.ABS,
    "CEIL": Function.CEIL,
    "COS": Function.COS,
    "ELU": Function.ELU,
    "EXP": Function.EXP,
    "FLOOR": Function.FLOOR,
    "LOG": Function.LOG,
    "LOGICAL_NOT": Function.NOT,
    "NEG": Function.NEGATE,
    "ROUND": Function.ROUND,
    "RSQRT": Function.RSQRT,
    "SIGN": Function.SIGN,
    "SIN": Function.SIN,
    "SQRT": Function.SQRT,
    "SQUARE": Function.SQUARE,
}
UNARY: dict[str, Importer] = {
    **{code: _without_attributes(Curve(function)) for code, function in _CURVES.items()},
    "CAST": _import_cast,
    "DEQUANTIZE": _without_attributes(Dequantize()),
    "GELU": _import_gelu,
    "HARD_SWISH": _without_attributes(HardSwish()),
    "LEAKY_RELU": _import_leaky_relu,
    "LOGISTIC": _without_attributes(Logistic()),
    "QUANTIZE": _import_quantize,
    "RELU": _without_attributes(Clamp(Activation.RELU)),
    "RELU6": _without_attributes(Clamp(Activation.RELU6)),
    "RELU_0_TO_1": _without_attributes(Clamp(Activation.RELU_0_TO_1)),
    "RELU_N1_TO_1": _without_attributes(Clamp(Activation.RELU_N1_TO_1)),
    "SOFTMAX": _import_softmax,
    "TANH": _without_attributes(Tanh()),
}
