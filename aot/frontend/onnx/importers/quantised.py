"""Operators that quantize around another one: ONNX's QLinear* and those of ONNX Runtime's domain.

Each is expanded with DequantizeLinear and QuantizeLinear; with_integers turns it into one integer op.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator

Attributes = dict[str, object]


def attribute(node: OnnxOperator, name: str) -> object:
    return next(onnx.helper.get_attribute_value(a) for a in node.proto.attribute if a.name == name)


def attributes(node: OnnxOperator, *but: str) -> Attributes:
    return {a.name: attribute(node, a.name) for a in node.proto.attribute if a.name not in but}


def _real(node: OnnxOperator, at: int, many_along: int | None = None) -> Value:
    """Returns a dequantized operand; its scale and zero point follow it, several apply along a dimension."""
    x, scale, zero = node.operand(at), node.operand(at + 1), node.optional(at + 2)
    shape = node.shape(scale)
    if any(s > 1 for s in shape):
        if len(shape) > 1:
            wide = cast(node, x, onnx.TensorProto.FLOAT)
            centred = wide if zero is None else node.do("Sub", wide, cast(node, zero, onnx.TensorProto.FLOAT))
            return node.do("Mul", centred, scale)
        if many_along is not None:
            return node.do("DequantizeLinear", x, scale, zero, axis=many_along)
    return node.do("DequantizeLinear", x, scale, zero)


def _integers(node: OnnxOperator, real: Value, at: int) -> Value:
    """Quantizes the result; without a zero point it is uint8 with 0."""
    return node.do("QuantizeLinear", real, node.operand(at), node.optional(at + 1))


def _conv(node: OnnxOperator) -> Value:
    floats = [_real(node, 0), _real(node, 3, 0)]
    if node.has(8):
        floats.append(_bias(node, node.operand(8), node.operand(1), node.operand(4)))
    return _integers(node, node.do("Conv", *floats, **attributes(node)), 6)


def _bias(node: OnnxOperator, bias: Value, x_scale: Value, w_scale: Value) -> Value:
    """Returns the bias, in units of input scale * weight scale, as floats."""
    scale = node.do("Mul", x_scale, w_scale)
    return node.do("DequantizeLinear", bias, scale, axis=0)


def _matmul(node: OnnxOperator) -> Value:
    """Multiplies matrices; several scales apply per row of the first or column of the second operand."""
    rows, columns = len(node.operand(0).order) - 2, len(node.operand(3).order) - 1
    return _integers(node, node.do("MatMul", _real(node, 0, rows), _real(node, 3, columns)), 6)


def _gemm(node: OnnxOperator) -> Value:
    along = 0 if node.integer("transB", 0) else 1
    floats = [_real(node, 0), _real(node, 3, along)]
    if node.has(6):
        scaled = node.do("Mul", node.operand(1), node.operand(4))
        floats.append(node.do("DequantizeLinear", node.operand(6), scaled, axis=0))
    made = node.do("Gemm", *floats, **attributes(node))
    return _integers(node, made, 7) if node.has(7) else made


def _pair(op_type: str) -> Importer:
    return lambda node: _integers(node, node.do(op_type, _real(node, 0), _real(node, 3)), 6)


def _one(op_type: str, *dropped: str) -> Importer:
    """Imports an operator with one operand, and its attributes except those of the quantized form."""

    def import_it(node: OnnxOperator) -> Value:
        if node.integer("channels_last", 0):
            raise node.fail("channels_last is not supported", "export the model with channels first")
        made = node.do(op_type, _real(node, 0), **attributes(node, "channels_last", *dropped))
        return _integers(node, made, 3)

    return import_it


def _softmax(node: OnnxOperator) -> Value:
    """Imports softmax; its operator set decides whether all dimensions from the axis on are one."""
    x, axis = _real(node, 0), node.integer("axis", -1)
    if node.integer("opset", 13) < 13 and axis not in (-1, len(x.order) - 1):
        raise node.fail(
            f"a softmax over all axes from {axis} is not supported", "use a softmax along the last axis"
        )
    return _integers(node, node.do("Softmax", x, axis=axis), 3)


def _concat(node: OnnxOperator) -> Value:
    """Imports Concat: scale and zero point of the result, then three operands for each input."""
    count = (len(node.operands) - 2) // 3
    floats = [_real(node, 2 + 3 * number) for number in range(count)]
    return _integers(node, node.do("Concat", *floats, axis=node.integer("axis")), 0)


def _as_standard(node: OnnxOperator) -> Value:
    """Runs ONNX's operator of the same name."""
    return node.do(node.proto.op_type, *node.operands, **attributes(node))


# In the standard domain.
QUANTISED: Mapping[str, Importer] = {"QLinearConv": _conv, "QLinearMatMul": _matmul}
# In com.microsoft.
MICROSOFT: Mapping[str, Importer] = {
    "DequantizeLinear": _as_standard,
    "QGemm": _gemm,
    "QLinearAdd": _pair("Add"),
    "QLinearAveragePool": _one("AveragePool"),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _one("GlobalAveragePool"),
    "QLinearLeakyRelu": _one("LeakyRelu"),
    "QLinearMul": _pair("Mul"),
    "QLinearReduceMean": _one("ReduceMean"),
    "QLinearSigmoid": _one("Sigmoid"),
    "QLinearSoftmax": _softmax,
    "QuantizeLinear": _as_standard,
}
