"""A constant factor or summand for each channel goes into the weights and the bias of the layer before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Array, Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul, Sub
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.passes.names import fresh_name

Vector = npt.NDArray[np.float32]
# The weights' axis of output channels.
_CHANNEL_AXIS: Mapping[type[Op], int] = {Conv2d: 0, Dense: 0, DepthwiseConv2d: 2}


def fold_scales(graph: Graph) -> Graph:
    """Of real numbers only. What was the sum or product stays as a view, which remove-identity takes out."""
    index = 0
    while index < len(graph.nodes):
        graph = _folded(graph, graph.nodes[index])
        index += 1
    return graph


def _folded(graph: Graph, node: Node) -> Graph:
    if not isinstance(node.op, Add | Mul | Sub) or graph.types[node.outputs[0]].dtype is not DType.F32:
        return graph
    value, constant = _operands(graph, node)
    layers = [] if value is None else _layers_before(graph, value)
    if value is None or not layers or not all(_is_open(graph, layer, node.op) for layer in layers):
        return graph
    numbers = _for_each_channel(graph, constant, value)
    if numbers is None or graph.types[value].shape != graph.types[node.outputs[0]].shape:
        return graph
    return _with(graph, layers, node, value, numbers)


def _is_open(graph: Graph, layer: Node, op: Op) -> bool:
    """Whether weights and bias are constants that may change; steps of weights have their own scales."""
    is_constant = all(name is None or name in graph.constants for name in layer.inputs[1:])
    is_real = graph.types[layer.reads[1]].dtype is DType.F32
    return is_constant and (is_real or not isinstance(op, Mul))


def _operands(graph: Graph, node: Node) -> tuple[str | None, str]:
    """What is computed, if one is, and what is constant; nothing is taken off a constant here."""
    first, second = node.reads
    if second in graph.constants:
        return first, second
    is_turned = first in graph.constants and not isinstance(node.op, Sub)
    return (second, first) if is_turned else (None, first)


def _layers_before(graph: Graph, value: str) -> list[Node]:
    """Layers without activation that give the channels one after the other, nobody else's; or none.

    Between them and the value may be views that have the same channels, and a joining of channels (groups).
    """
    channels = graph.types[value].shape[-1:]
    while len(graph.readers[value]) == 1 and value not in graph.kept:
        maker = graph.producers.get(value)
        if maker is None or graph.types[value].shape[-1:] != channels:
            return []
        if isinstance(maker.op, Conv2d | Dense | DepthwiseConv2d):
            return [maker] if maker.op.activation is Activation.NONE else []
        if isinstance(maker.op, Concat) and maker.op.axis in (-1, len(graph.types[value].shape) - 1):
            parts = [_layers_before(graph, part) for part in maker.reads]
            is_each_once = len(set(maker.reads)) == len(parts)
            return [layer for part in parts for layer in part] if is_each_once and all(parts) else []
        if not isinstance(maker.op, Reshape):
            return []
        value = maker.reads[0]
    return []


def _for_each_channel(graph: Graph, constant: str, value: str) -> Vector | None:
    array = graph.constants[constant]
    channels = graph.types[value].shape[-1]
    if array.size not in (1, channels) or (array.size > 1 and array.shape[-1] != channels):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,)).astype(np.float32)


def _with(graph: Graph, layers: list[Node], node: Node, value: str, numbers: Vector) -> Graph:
    """The layers with their new constants; the node becomes a view of the value."""
    made: dict[str, Array] = {}
    swapped = {node.name: replace(node, op=Reshape(graph.types[value].shape), inputs=(value,))}
    begin = 0
    for layer in layers:
        end = begin + graph.types[layer.outputs[0]].shape[-1]
        swapped[layer.name] = _changed(graph, layer, node, numbers[begin:end], made)
        begin = end
    types = {name: TensorType(DType.F32, array.shape) for name, array in made.items()}
    return graph.with_nodes((swapped.get(n.name, n) for n in graph.nodes), types=types, constants=made)


def _changed(graph: Graph, layer: Node, node: Node, numbers: Vector, made: dict[str, Array]) -> Node:
    assert isinstance(layer.op, Conv2d | Dense | DepthwiseConv2d)
    assert isinstance(node.op, Add | Mul | Sub)
    weights, bias = layer.inputs[1], layer.inputs[2] if len(layer.inputs) > 2 else None
    b = np.zeros(numbers.shape, np.float32) if bias is None else graph.constants[bias]
    if isinstance(node.op, Mul):
        weights = _add(graph, made, f"{node.name}/weights", _scaled(graph, layer, numbers))
    if bias is not None or not isinstance(node.op, Mul):
        (total,) = replace(node.op, activation=Activation.NONE).reference([b, numbers], *_types(numbers))
        bias = _add(graph, made, f"{node.name}/bias", total)
    op = replace(layer.op, activation=node.op.activation)
    return replace(layer, op=op, inputs=(layer.inputs[0], weights, bias))


def _types(numbers: Vector) -> tuple[list[TensorType], list[TensorType]]:
    tensor = TensorType(DType.F32, numbers.shape)
    return [tensor, tensor], [tensor]


def _scaled(graph: Graph, layer: Node, factors: Vector) -> Array:
    weights = graph.constants[layer.inputs[1] or ""].astype(np.float32)
    axis = _CHANNEL_AXIS[type(layer.op)]
    return weights * factors.reshape([-1 if a == axis else 1 for a in range(weights.ndim)])


def _add(graph: Graph, made: dict[str, Array], wish: str, array: Array) -> str:
    name = fresh_name(wish, graph.types, made)
    made[name] = array
    return name
