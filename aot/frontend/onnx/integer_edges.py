"""Gives a quantized ONNX model integer inputs and outputs instead of floats."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx.helper import make_node
from onnx.numpy_helper import from_array, to_array

from aot.errors import ModelError
from aot.frontend.onnx.declared_states import declare_state
from aot.ir.graph import State

_MOVES = ("Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
_IO_FLOAT32 = "--io float32   converts on the board instead"


@dataclass(frozen=True, slots=True)
class Edge:
    """An input or output: its floats are scale * (integer - zero_point)."""

    name: str
    is_input: bool
    scale: float
    zero_point: int
    dtype: str = "int8"


def with_integer_edges(
    data: bytes, file_name: str, floats: Container[str] = ()
) -> tuple[bytes, tuple[Edge, ...]]:
    """Returns the model without the conversions at its ends. ModelError names an end without conversion.

    Ends in `floats` stay as they are.
    """
    model = onnx.load_model_from_string(data)
    graph = model.graph
    inputs = [_integer_input(graph, entry, file_name) for entry in _reals(graph.input, floats)]
    outputs = [_integer_output(graph, entry, file_name) for entry in _reals(graph.output, floats)]
    return model.SerializeToString(), (*inputs, *outputs)


def _reals(entries: Any, floats: Container[str]) -> list[Any]:
    return [e for e in entries if e.type.tensor_type.elem_type == TensorProto.FLOAT and e.name not in floats]


def with_integer_states(data: bytes, states: Iterable[State]) -> tuple[bytes, tuple[State, ...]]:
    """Returns the model that declares its states, and the states with the first values that it has.

    A state becomes an integer with the scale of its next value, unless layers of floats read or compute it.
    """
    model = onnx.load_model_from_string(data)
    kept = tuple(_stored(model.graph, state) for state in states)
    for state in kept:
        declare_state(model, state.name, state.next, state.initial)
    return model.SerializeToString(), kept


def _stored(graph: Any, state: State) -> State:
    edge = _integer_state(graph, state)
    if edge is None:
        return state
    limits = np.iinfo(edge.dtype)
    steps = np.rint(state.initial / np.float32(edge.scale)) + edge.zero_point
    return replace(state, initial=np.clip(steps, limits.min, limits.max).astype(edge.dtype))


def _integer_state(graph: Any, state: State) -> Edge | None:
    _, readers = _first_readers(graph, state.name)
    makers = [node for node in graph.node if state.next in node.output]
    kinds = [node.op_type for node in (*readers, *makers)]
    if kinds != ["QuantizeLinear", "DequantizeLinear"]:
        return None
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for own, wanted in zip(readers[0].input[1:3], makers[0].input[1:3], strict=True):
        if constants[own].data_type != constants[wanted].data_type:
            return None
    for own, wanted in zip(readers[0].input[1:3], makers[0].input[1:3], strict=True):
        constants[own].CopyFrom(from_array(to_array(constants[wanted]), own))
    (before,) = [each for each in graph.input if each.name == state.name]
    (after,) = [each for each in graph.output if each.name == state.next]
    _integer_input(graph, before, "")
    return _integer_output(graph, after, "")


def _integer_input(graph: Any, entry: Any, file_name: str) -> Edge:
    moved, readers = _first_readers(graph, entry.name)
    if [node.op_type for node in readers] != ["QuantizeLinear"]:
        raise _stays(f'input "{entry.name}"', "is read", readers, file_name)
    (quantise,) = readers
    edge = _edge(graph, entry, quantise, True)
    if len(moved) == 1:
        graph.node.remove(quantise)
        _rename_reads(graph, quantise.output[0], entry.name)
    else:  # the moved elements are quantized with the same scale again, which changes nothing
        real = f"{entry.name}/real"
        _rename_reads(graph, entry.name, real)
        inputs = [entry.name, *quantise.input[1:3]]
        graph.node.insert(0, make_node("DequantizeLinear", inputs, [real], domain=quantise.domain))
    return edge


def _first_readers(graph: Any, name: str) -> tuple[list[str], list[Any]]:
    """Returns the value and its elements moved, and the nodes that read these and do more than move them."""
    moved = [name]
    while True:
        readers = [node for node in graph.node if moved[-1] in node.input]
        if [node.op_type in _MOVES for node in readers] != [True]:
            return moved, readers
        moved += readers[0].output


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
    zeros = to_array(zero)
    return Edge(entry.name, is_input, float(to_array(scale)), int(zeros), str(zeros.dtype))


def _rename_reads(graph: Any, old: str, new: str) -> None:
    for node in graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
