"""Quantized operators: conversions from and to integers, and operators on integers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto

from aot.frontend.onnx.draft import Stored, Value
from aot.frontend.onnx.elements import BITS, NARROW, STORED
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import Quant, dense_strides
from aot.ops.quantize import Dequantize, Quantize
from aot.ops.rearrange import Loops

_WHOLE = (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16)  # stored without widening


def _spread(node: OnnxOperator, numbers: Value, x: Value) -> Value:
    """Broadcasts scales or zero points to x: one, one per index of an axis, or one per block."""
    shape, rank = node.shape(numbers), len(x.order)
    if all(s == 1 for s in shape):
        return node.value(node.reshaped(numbers.name, ()), numbers.element)
    axis = node.axis(node.integer("axis", 1), rank)
    block = node.integer("block_size", 0)
    if not block:
        if shape != (node.shape(x)[axis],):
            raise node.fail(f"scales of shape {list(shape)} do not fit axis {axis} of {list(node.shape(x))}")
        along = [-1 if a == axis else 1 for a in range(rank)]
        sizes = [shape[0] if a == -1 else 1 for a in along]
        return node.value(node.reshaped(node.plain(numbers), sizes), numbers.element)
    steps = dense_strides(shape)
    blocks = (*shape[: axis + 1], block, *shape[axis + 1 :])
    strides = (*steps[: axis + 1], 0, *steps[axis + 1 :])
    whole = (*shape[:axis], shape[axis] * block, *shape[axis + 1 :])
    repeated = node.value(node.picked(node.plain(numbers), Loops(blocks, strides), whole), numbers.element)
    return node.do(
        "Slice", repeated, node.number([0], 7), node.number([node.shape(x)[axis]], 7), node.number([axis], 7)
    )


def _quantize(node: OnnxOperator) -> Value:
    x, scale = node.operand(0), node.operand(1)
    element = node.operand(2).element if node.has(2) else node.integer("output_dtype", 0) or TensorProto.UINT8
    floats = cast(node, x, TensorProto.FLOAT)
    quant = _one_quant(node, scale, node.optional(2))
    if quant is not None and element in _WHOLE and floats.name not in node.draft.constants:
        op = Quantize(STORED[element], halves_to_even=True)
        return Value(node.draft.apply(node.place, op, (floats.name,), quant), floats.order, element)
    steps = node.do("Div", floats, cast(node, _spread(node, scale, x), TensorProto.FLOAT))
    if element in NARROW:
        if node.has(2):
            steps = node.do("Add", steps, cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT))
        return cast(node, steps, element, bool(node.integer("saturate", 1)))
    whole = node.do("Round", steps)
    if node.has(2):
        zero = cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT)
        whole = node.do("Add", whole, zero)
    return _saturated(node, whole, element)


def _one_quant(node: OnnxOperator, scale: Value, zero_point: Value | None) -> Quant | None:
    """Returns the quantization if it is known, per-tensor and from float32; else None."""
    scales = node.draft.array(scale)
    zeros = np.zeros(1) if zero_point is None else node.draft.array(zero_point)
    if scales is None or zeros is None or scales.size != 1 or zeros.size != 1:
        return None
    step = float(scales.reshape(-1)[0])
    if scale.element != TensorProto.FLOAT or not (math.isfinite(step) and step > 0):
        return None
    return Quant((step,), (int(zeros.reshape(-1)[0]),))


def _saturated(node: OnnxOperator, x: Value, element: int) -> Value:
    """Clamps to the limits of the type, which may be stored in a wider one."""
    if element in BITS:
        bits, has_sign = BITS[element]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if has_sign else (0, (1 << bits) - 1)
        x = node.do("Min", node.do("Max", x, node.number(low, x.element)), node.number(high, x.element))
    return cast(node, x, element)


def _dequantize(node: OnnxOperator) -> Value:
    x, scale = node.operand(0), node.operand(1)
    element = node.integer("output_dtype", 0) or scale.element
    quant = _one_quant(node, scale, node.optional(2))
    is_constant = x.name in node.draft.constants
    if quant is not None and x.element in _WHOLE and element == TensorProto.FLOAT and not is_constant:
        quantised = Value(node.draft.with_quant(node.place, x.name, quant), x.order, x.element)
        return Value(node.apply(Dequantize(), quantised.name), x.order, element)
    centred = cast(node, x, TensorProto.FLOAT)
    if node.has(2):
        zero = cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT)
        centred = node.do("Sub", centred, zero)
    made = node.do("Mul", centred, cast(node, _spread(node, scale, x), TensorProto.FLOAT))
    result = cast(node, made, element)
    _remember(node, x, result)
    return result


def _remember(node: OnnxOperator, x: Value, result: Value) -> None:
    """Records the integers of a constant that became floats, for layers that use the integers."""
    integers = node.draft.array(x)
    scales = node.draft.array(_spread(node, node.operand(1), x))
    zeros = node.draft.array(_spread(node, node.operand(2), x)) if node.has(2) else np.zeros((), np.int64)
    if integers is None or scales is None or zeros is None or result.name not in node.draft.constants:
        return
    in_order = [np.broadcast_to(a, integers.shape).transpose(result.order) for a in (integers, scales, zeros)]
    node.draft.integers[result.name] = Stored(*in_order)


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
QUANTISED: Mapping[str, Importer] = {
    "DequantizeLinear": _dequantize,
    "QLinearConv": _conv,
    "QLinearMatMul": _matmul,
    "QuantizeLinear": _quantize,
}
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
