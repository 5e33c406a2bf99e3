"""Gives a quantized ONNX model integer inputs and outputs instead of floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx
from onnx import TensorProto
from onnx.numpy_helper import to_array

from aot.errors import ModelError

_IO_FLOAT32 = "--io float32   converts on the board instead"


@dataclass(frozen=True, slots=True)
class Edge:
    """An input or output: its floats are scale * (integer - zero_point)."""

    name: str
    is_input: bool
    scale: float
    zero_point: int


def with_integer_edges(data: bytes, file_name: str) -> tuple[bytes, tuple[Edge, ...]]:
    """Returns the model without the conversions at its ends. ModelError names an end without conversion."""
    model = onnx.load_model_from_string(data)
    inputs = [_integer_input(model.graph, entry, file_name) for entry in _reals(model.graph.input)]
    outputs = [_integer_output(model.graph, entry, file_name) for entry in _reals(model.graph.output)]
    return model.SerializeToString(), (*inputs, *outputs)


def _reals(entries: Any) -> list[Any]:
    return [e for e in entries if e.type.tensor_type.elem_type == TensorProto.FLOAT]


def _integer_input(graph: Any, entry: Any, file_name: str) -> Edge:
    readers = [node for node in graph.node if entry.name in node.input]
    if [node.op_type for node in readers] != ["QuantizeLinear"]:
        raise _stays(f'input "{entry.name}"', "is read", readers, file_name)
    (quantise,) = readers
    edge = _edge(graph, entry, quantise, True)
    graph.node.remove(quantise)
    _rename_reads(graph, quantise.output[0], entry.name)
    return edge


def _integer_output(graph: Any, entry: Any, file_name: str) -> Edge:
    makers = [node for node in graph.node if entry.name in node.output]
    if [node.op_type for node in makers] != ["DequantizeLinear"]:
        raise _stays(f'output "{entry.name}"', "is computed", makers, file_name)
    (real,) = makers
    edge, integers = _edge(graph, entry, real, False), real.input[0]
    _rename_reads(graph, entry.name, f"{entry.name}/real")
    real.output[0] = f"{entry.name}/real"
    for node in graph.node:
        node.output[:] = [entry.name if name == integers else name for name in node.output]
    _rename_reads(graph, integers, entry.name)
    if not any(real.output[0] in node.input for node in graph.node):
        graph.node.remove(real)
    return edge


def _stays(what: str, how: str, nodes: list[Any], file_name: str) -> ModelError:
    kinds = ", ".join(dict.fromkeys(node.op_type for node in nodes)) or "no node"
    return ModelError(f"{what} cannot be int8: it {how} by {kinds}, in floats", file_name, _IO_FLOAT32)


def _edge(graph: Any, entry: Any, conversion: Any, is_input: bool) -> Edge:
    """Changes its entry to the conversion's integer type."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    scale, zero = (constants[name] for name in conversion.input[1:3])
    entry.type.tensor_type.elem_type = zero.data_type
    return Edge(entry.name, is_input, float(to_array(scale)), int(to_array(zero)))


def _rename_reads(graph: Any, old: str, new: str) -> None:
    for node in graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
