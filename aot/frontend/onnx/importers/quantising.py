"""Quantisation: between real numbers and integers, half to even, and operators that do both around one."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.elements import BITS, NARROW
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, Operator
from aot.frontend.onnx.strides import dense_strides
from aot.ops.rearrange import Loops


def _spread(node: Operator, numbers: Value, x: Value) -> Value:
    """Scales or zero points as x meets them: one, one for each index of an axis, or one for each block."""
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


def _quantize(node: Operator) -> Value:
    x, scale = node.operand(0), node.operand(1)
    element = node.operand(2).element if node.has(2) else node.integer("output_dtype", 0) or TensorProto.UINT8
    reals = cast(node, x, TensorProto.FLOAT)
    steps = node.do("Div", reals, cast(node, _spread(node, scale, x), TensorProto.FLOAT))
    if element in NARROW:
        if node.has(2):
            steps = node.do("Add", steps, cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT))
        return cast(node, steps, element, bool(node.integer("saturate", 1)))
    whole = node.do("Round", steps)
    if node.has(2):
        zero = cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT)
        whole = node.do("Add", whole, zero)
    return _saturated(node, whole, element)


def _saturated(node: Operator, x: Value, element: int) -> Value:
    """In the limits of the type, which is perhaps kept in a wider one."""
    if element in BITS:
        bits, has_sign = BITS[element]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if has_sign else (0, (1 << bits) - 1)
        x = node.do("Min", node.do("Max", x, node.number(low, x.element)), node.number(high, x.element))
    return cast(node, x, element)


def _dequantize(node: Operator) -> Value:
    x, scale = node.operand(0), node.operand(1)
    centred = cast(node, x, TensorProto.FLOAT)
    if node.has(2):
        zero = cast(node, _spread(node, node.operand(2), x), TensorProto.FLOAT)
        centred = node.do("Sub", centred, zero)
    made = node.do("Mul", centred, cast(node, _spread(node, scale, x), TensorProto.FLOAT))
    return cast(node, made, node.integer("output_dtype", 0) or scale.element)


def _around(op_type: str, inputs: tuple[tuple[int, int, int], ...], output: tuple[int, int]) -> Importer:
    """Real numbers in, one operator, integers out; positions of operand, scale and zero point."""

    def import_it(node: Operator) -> Value:
        reals = [
            _real(node, node.operand(x), node.operand(scale), node.optional(zero), rows=number == 0)
            for number, (x, scale, zero) in enumerate(inputs)
        ]
        if op_type == "Conv":
            if node.has(8):
                reals.append(_bias(node, node.operand(8), node.operand(1), node.operand(4)))
            attributes = {a.name: _attribute(node, a.name) for a in node.proto.attribute}
            made = node.do("Conv", *reals, **attributes)
        else:
            made = node.do(op_type, *reals)
        return node.do("QuantizeLinear", made, node.operand(output[0]), node.operand(output[1]))

    return import_it


def _attribute(node: Operator, name: str) -> object:
    import onnx

    return next(onnx.helper.get_attribute_value(a) for a in node.proto.attribute if a.name == name)


def _real(node: Operator, x: Value, scale: Value, zero: Value | None, rows: bool) -> Value:
    """One of many scales goes with a filter, a row of the first operand or a column of the second."""
    many = any(s > 1 for s in node.shape(scale))
    axis = 0 if node.proto.op_type == "QLinearConv" else len(x.order) - (2 if rows else 1)
    if many and len(node.shape(scale)) > 1:
        wide = cast(node, x, TensorProto.FLOAT)
        centred = wide if zero is None else node.do("Sub", wide, cast(node, zero, TensorProto.FLOAT))
        return node.do("Mul", centred, scale)
    return node.do("DequantizeLinear", x, scale, zero, axis=axis if many else 1)


def _bias(node: Operator, bias: Value, x_scale: Value, w_scale: Value) -> Value:
    scale = node.do("Mul", x_scale, w_scale)
    return node.do("Mul", cast(node, bias, TensorProto.FLOAT), scale)


def _conv_integer(node: Operator) -> Value:
    """Sums of products of integers counted from their zero points, in real numbers: exact below 2**24."""
    reals = []
    for position in (0, 1):
        x = cast(node, node.operand(position), TensorProto.FLOAT)
        if node.has(2 + position):
            zero = cast(node, node.operand(2 + position), TensorProto.FLOAT)
            if node.shape(zero) and node.shape(zero)[0] > 1:
                sizes = (*node.shape(zero), *(1,) * (len(x.order) - 1))
                zero = node.value(node.reshaped(node.plain(zero), sizes), zero.element)
            x = node.do("Sub", x, zero)
        reals.append(x)
    attributes = {a.name: _attribute(node, a.name) for a in node.proto.attribute}
    return cast(node, node.do("Round", node.do("Conv", *reals, **attributes)), TensorProto.INT32)


QUANTISING: Mapping[str, Importer] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "QLinearConv": _around("Conv", ((0, 1, 2), (3, 4, 5)), (6, 7)),
    "QLinearMatMul": _around("MatMul", ((0, 1, 2), (3, 4, 5)), (6, 7)),
    "QuantizeLinear": _quantize,
}
