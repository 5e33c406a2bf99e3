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
    layer = None if value is None else _layer_before(graph, value)
    if value is None or layer is None or layer.inputs[1] not in graph.constants:
        return graph
    numbers = _for_each_channel(graph, constant, value)
    if numbers is None or graph.types[value].shape != graph.types[node.outputs[0]].shape:
        return graph
    return _with(graph, layer, node, value, numbers)


def _operands(graph: Graph, node: Node) -> tuple[str | None, str]:
    """What is computed, if one is, and what is constant; nothing is taken off a constant here."""
    first, second = node.reads
    if second in graph.constants:
        return first, second
    is_turned = first in graph.constants and not isinstance(node.op, Sub)
    return (second, first) if is_turned else (None, first)


def _layer_before(graph: Graph, value: str) -> Node | None:
    """A layer without activation, or a view of its result that has the same channels; nobody else's."""
    channels = graph.types[value].shape[-1:]
    while len(graph.readers[value]) == 1 and value not in graph.kept:
        maker = graph.producers.get(value)
        if maker is None or graph.types[value].shape[-1:] != channels:
            return None
        if isinstance(maker.op, Conv2d | Dense | DepthwiseConv2d):
            return maker if maker.op.activation is Activation.NONE else None
        if not isinstance(maker.op, Reshape):
            return None
        value = maker.reads[0]
    return None


def _for_each_channel(graph: Graph, constant: str, value: str) -> Vector | None:
    array = graph.constants[constant]
    channels = graph.types[value].shape[-1]
    if array.size not in (1, channels) or (array.size > 1 and array.shape[-1] != channels):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,)).astype(np.float32)


def _with(graph: Graph, layer: Node, node: Node, value: str, numbers: Vector) -> Graph:
    """The layer with its new constants; the node becomes a view of the value."""
    assert isinstance(node.op, Add | Mul | Sub)
    bias = layer.inputs[2] if len(layer.inputs) > 2 else None
    b = np.zeros(numbers.shape, np.float32) if bias is None else graph.constants.get(bias)
    if b is None or b.shape != numbers.shape:
        return graph
    made: dict[str, Array] = {}
    weights = layer.inputs[1]
    if isinstance(node.op, Mul):
        if graph.types[weights or ""].dtype is not DType.F32:  # steps, which have their own scales
            return graph
        weights = _add(graph, made, f"{node.name}/weights", _scaled(graph, layer, numbers))
    if bias is not None or not isinstance(node.op, Mul):
        (total,) = replace(node.op, activation=Activation.NONE).reference([b, numbers], *_types(numbers))
        bias = _add(graph, made, f"{node.name}/bias", total)
    types = {name: TensorType(DType.F32, array.shape) for name, array in made.items()}
    assert isinstance(layer.op, Conv2d | Dense | DepthwiseConv2d)
    op = replace(layer.op, activation=node.op.activation)
    new = replace(layer, op=op, inputs=(layer.inputs[0], weights, bias))
    view = replace(node, op=Reshape(graph.types[value].shape), inputs=(value,))
    swapped = {layer.name: new, node.name: view}
    return graph.with_nodes((swapped.get(n.name, n) for n in graph.nodes), types=types, constants=made)


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
