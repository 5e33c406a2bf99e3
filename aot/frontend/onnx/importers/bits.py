"""Reinterprets the bits of one type as another."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.elements import BITS, FLOATS, STORED, element_name
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


BITS_READ: Mapping[str, Importer] = {"BitCast": _bit_cast}
