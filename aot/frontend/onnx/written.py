"""Writes a graph as ONNX, operator by operator, and infers shapes and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, TypeProto, defs, helper, numpy_helper, shape_inference

from aot.ir.types import Array

_OPSET, _IR_VERSION = 17, 8
_NUMBERS: Mapping[str, int] = {
    "f32": TensorProto.FLOAT,
    "i8": TensorProto.INT8,
    "u8": TensorProto.UINT8,
    "i16": TensorProto.INT16,
    "i32": TensorProto.INT32,
    "i64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
_NAMES = {number: name for name, number in _NUMBERS.items()}
WRITTEN_TYPES = tuple(_NUMBERS)


class UnwritableError(ValueError):
    """ONNX does not support this operator with these operands; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class WrittenSlot:
    """The type and the shape of a value: "f32", "i8", ..."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def numpy_of(dtype: str) -> np.dtype[Any]:
    found: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(_NUMBERS[dtype])
    return found


def operators() -> frozenset[str]:
    return frozenset(schema.name for schema in defs.get_all_schemas() if not schema.domain)


class WrittenGraph:
    """The nodes, constants and types so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[onnx.NodeProto] = []
        self._types: dict[str, TypeProto] = {}
        self._constants: dict[str, TensorProto] = {}

    def put_input(self, name: str, dtype: str, shape: Sequence[int]) -> WrittenSlot:
        self._types[name] = helper.make_tensor_type_proto(_NUMBERS[dtype], list(shape))
        return _slot(self._types[name])

    def put_constant(self, name: str, array: Array) -> WrittenSlot:
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        number = helper.np_dtype_to_tensor_dtype(array.dtype)
        self._types[name] = helper.make_tensor_type_proto(number, list(array.shape))
        return _slot(self._types[name])

    def put_node(
        self, operator: str, operands: Sequence[str], result: str, attributes: Mapping[str, Any]
    ) -> WrittenSlot:
        """Adds an operator with one result; "" is an omitted operand. Raises UnwritableError."""
        node = helper.make_node(operator, list(operands), [result], name=result, **attributes)
        kinds = {name: self._types[name] for name in operands if name}
        data = {name: self._constants[name] for name in kinds if name in self._constants}
        imports = [helper.make_opsetid("", _OPSET)]
        try:
            schema = defs.get_schema(operator, _OPSET)
            found = shape_inference.infer_node_outputs(schema, node, kinds, data, opset_imports=imports)
        except Exception as error:  # errors of ONNX's checker share no base class
            raise UnwritableError(_reason(error)) from None
        kind = found.get(result)
        if kind is None or not kind.tensor_type.HasField("shape"):
            raise UnwritableError("its shape does not follow from shapes and constants")
        slot = _slot(kind)
        if any(size < 1 for size in slot.shape):
            raise UnwritableError(f"it would be {slot}, but sizes must be at least 1")
        self.nodes.append(node)
        self._types[result] = kind
        return slot

    def file(self, inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
        """Returns the bytes of the file, the same for the same graph."""
        slots = [
            [helper.make_value_info(name, self._types[name]) for name in names] for names in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, self.name, *slots, list(self._constants.values()))
        imports = [helper.make_opsetid("", _OPSET)]
        made = helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION, producer_name="Solder")
        return bytes(made.SerializeToString(deterministic=True))


def _slot(kind: TypeProto) -> WrittenSlot:
    tensor = kind.tensor_type
    name = _NAMES.get(tensor.elem_type) or str(helper.tensor_dtype_to_string(tensor.elem_type))
    return WrittenSlot(name, tuple(dim.dim_value for dim in tensor.shape.dim))


def _reason(error: Exception) -> str:
    """Returns the last sentence of ONNX's message, which states the problem."""
    text = " ".join(str(error).split())
    return text.rpartition("] ")[2] or text
