"""Casts to an element type, and bits of one type read as another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.elements import BITS, FLOATS, STORED, element_name, numbers_of
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import DType
from aot.ops.convert import Convert

_WHOLE_BYTES = {element for element in STORED if BITS.get(element, (8, True))[0] % 8 == 0}


def _bit_cast(node: OnnxOperator) -> Value:
    """Imports BitCast. Between integers of one width it is a conversion, which keeps the lower bits."""
    x, to = node.operand(0), node.integer("to")
    names = [element_name(element) for element in (x.element, to)]
    if not {x.element, to} <= _WHOLE_BYTES or _width(x.element) != _width(to):
        raise node.fail(f"the bits of {names[0]} cannot be read as {names[1]}", "export the model without it")
    floats = [element in FLOATS for element in (x.element, to)]
    if x.element == to or not any(floats):
        return cast(node, x, to)
    if {x.element, to} - {TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT32} or all(floats):
        raise node.fail(
            f"the bits of {names[0]} read as {names[1]} are not supported, only integers and float32",
            "export the model without it",
        )
    if floats[1]:
        whole = cast(node, x, TensorProto.INT32)
        return Value(node.apply(Convert(DType.F32, True), whole.name), x.order, to)
    bits = Value(node.apply(Convert(DType.I32, True), x.name), x.order, TensorProto.INT32)
    return cast(node, bits, to)


def _width(element: int) -> int:
    return int(onnx.helper.tensor_dtype_to_np_dtype(element).itemsize)


_POWERS = numbers_of("FLOAT8E8M0")
_LEAST, _LEAST_NORMAL, _LARGEST = 2.0**-127, 2.0**-126, 2.0**127
_EXPONENT = 0x7F800000  # exponent bits of a float32


@dataclass(frozen=True)
class _Way:
    """A rounding: the number added to the bits, and the threshold between the two smallest powers."""

    added: int
    threshold: float


_WAYS: Mapping[str, _Way] = {
    "up": _Way(0x7FFFFF, float(np.nextafter(np.float32(_LEAST), np.float32(1)))),
    "down": _Way(0, _LEAST_NORMAL),
    "nearest": _Way(0x400000, 1.5 * _LEAST),  # ties round up
}


def _cast(node: OnnxOperator) -> Value:
    return _casted(node, node.integer("to"))


def _cast_like(node: OnnxOperator) -> Value:
    return _casted(node, node.operand(1).element)


def _casted(node: OnnxOperator, element: int) -> Value:
    x, saturate = node.operand(0), bool(node.integer("saturate", 1))
    if element not in _POWERS or x.element == element:
        return cast(node, x, element, saturate)
    mode = node.text("round_mode", "up")
    if mode not in _WAYS:
        raise node.fail(f'rounding "{mode}" is not one of {", ".join(_WAYS)}', "get or export the file again")
    made = _power(node, cast(node, x, TensorProto.FLOAT), _WAYS[mode], saturate)
    return Value(made.name, made.order, element)


def _power(node: OnnxOperator, x: Value, way: _Way, saturate: bool) -> Value:
    """Maps a number beyond those of the format to the nearest of them, or to NaN."""
    inside = node.do(
        "Min", node.do("Max", x, _real(node, 0.0)), _real(node, _LARGEST if saturate else np.inf)
    )
    bits = node.do(
        "BitCast", node.do("Where", node.do("IsNaN", x), _real(node, 1.0), inside), to=TensorProto.INT32
    )
    raised = node.do("Add", bits, node.number(way.added, TensorProto.INT32))
    kept = node.do("BitwiseAnd", raised, node.number(_EXPONENT, TensorProto.INT32))
    normal = node.do("BitCast", kept, to=TensorProto.FLOAT)
    is_raised = node.do("GreaterOrEqual", x, _real(node, way.threshold))
    small = node.do("Where", is_raised, _real(node, _LEAST_NORMAL), _real(node, _LEAST))
    power = node.do("Where", node.do("Less", x, _real(node, _LEAST_NORMAL)), small, normal)
    is_none = node.do("IsNaN", x)
    if not saturate:
        below = node.do("Less", x, _real(node, _LEAST))
        beyond = node.do("Or", below, node.do("Greater", power, _real(node, _LARGEST)))
        is_none = node.do("Or", is_none, beyond)
    return node.do("Where", is_none, _real(node, np.nan), power)


def _real(node: OnnxOperator, value: float) -> Value:
    return node.number(value, TensorProto.FLOAT)


CASTING: Mapping[str, Importer] = {"BitCast": _bit_cast, "Cast": _cast, "CastLike": _cast_like}
