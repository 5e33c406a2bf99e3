"""A constant factor or term per channel is folded into the weights and the bias of the preceding layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul, Sub
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.op import Op
from aot.ops.own_steps import InOwnSteps
from aot.ops.reshape import Reshape
from aot.passes.names import fresh_name
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.readers import needed_elsewhere, source_of

Vector = npt.NDArray[np.float32]
# The weights' axis of output channels.
_CHANNEL_AXIS: Mapping[type[Op], int] = {Conv2d: 0, Dense: 0, DepthwiseConv2d: 2}


def fold_scales(graph: Graph) -> Outcome:
    """Folds floats only. The addition or product becomes a view, which remove-identity removes."""
    before, left = graph, dict[str, str]()
    for index in range(len(graph.nodes)):
        node = graph.nodes[index]
        if not _has_constant(graph, node):
            continue
        folded = _folded(graph, node)
        if isinstance(folded, Miss):
            left[node.name] = folded.because
        else:
            graph = folded
    return outcome(before, graph, left, "no float is multiplied by a constant, or added to one")


def _has_constant(graph: Graph, node: Node) -> bool:
    is_real = graph.types[node.outputs[0]].dtype is DType.F32
    return isinstance(node.op, Add | Mul | Sub) and is_real and any(v in graph.constants for v in node.reads)


def _folded(graph: Graph, node: Node) -> Graph | Miss:
    operands = _operands(graph, node)
    if isinstance(operands, Miss):
        return operands
    value, constant = operands
    layers = _layers_before(graph, value)
    if isinstance(layers, Miss):
        return layers
    closed = next((why for layer in layers if (why := _why_closed(graph, layer, node.op))), None)
    if closed is not None:
        return closed
    numbers = _for_each_channel(graph, constant, value)
    if numbers is None or graph.types[value].shape != graph.types[node.outputs[0]].shape:
        return Miss(f'has a constant "{constant}" that is not one number for each channel of "{value}"')
    return _with(graph, layers, node, value, numbers)


def _why_closed(graph: Graph, layer: Node, op: Op) -> Miss | None:
    """Returns why a layer cannot be changed, such as computed weights or integers; None if it can."""
    if not all(name is None or name in graph.constants for name in layer.inputs[1:]):
        return Miss(f'follows "{layer.name}", whose weights or bias are computed')
    dtype = graph.types[layer.reads[1]].dtype
    if dtype is not DType.F32 and isinstance(op, Mul):
        return Miss(f'follows "{layer.name}", whose weights are {dtype.value} and have scales of their own')
    maker = graph.producers.get(layer.reads[0])
    if maker is not None and isinstance(maker.op, InOwnSteps):
        return Miss(f'follows "{layer.name}", whose sums are of whole steps and so exact')
    return None


def _operands(graph: Graph, node: Node) -> tuple[str, str] | Miss:
    """Returns the computed operand and the constant one."""
    first, second = node.reads
    if second in graph.constants:
        return first, second
    return Miss("subtracts from a constant") if isinstance(node.op, Sub) else (second, first)


def _layers_before(graph: Graph, value: str) -> list[Node] | Miss:
    """Returns the layers without activation that together compute the value's channels, for no other reader.

    Reshapes that keep the channels, and concatenations of channels, may come between.
    """
    channels = graph.types[value].shape[-1:]
    while (shared := needed_elsewhere(graph, value)) is None:
        maker = graph.producers.get(value)
        if maker is None:
            return Miss(f'reads "{value}", {source_of(graph, value)}: no layer makes it')
        if graph.types[value].shape[-1:] != channels:
            return Miss(f'reads a view of "{value}", which has other channels')
        if isinstance(maker.op, Conv2d | Dense | DepthwiseConv2d):
            return [maker] if maker.op.activation is Activation.NONE else _after_activation(maker)
        if isinstance(maker.op, Concat) and maker.op.axis in (-1, len(graph.types[value].shape) - 1):
            return _layers_of_parts(graph, maker)
        if not isinstance(maker.op, Reshape):
            return Miss(f'follows "{maker.name}" ({maker.op.name}), which has no weights')
        value = maker.reads[0]
    return shared


def _after_activation(layer: Node) -> Miss:
    return Miss(f'follows "{layer.name}", which ends with an activation of its own')


def _layers_of_parts(graph: Graph, join: Node) -> list[Node] | Miss:
    if len(set(join.reads)) < len(join.reads):
        return Miss(f'follows "{join.name}", which joins a value to itself')
    layers: list[Node] = []
    for part in join.reads:
        found = _layers_before(graph, part)
        if isinstance(found, Miss):
            return found
        layers += found
    return layers


def _for_each_channel(graph: Graph, constant: str, value: str) -> Vector | None:
    array = graph.constants[constant]
    channels = graph.types[value].shape[-1]
    if array.size not in (1, channels) or (array.size > 1 and array.shape[-1] != channels):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,)).astype(np.float32)


def _with(graph: Graph, layers: list[Node], node: Node, value: str, numbers: Vector) -> Graph:
    """Returns the graph with the layers' new constants; the node becomes a view of the value."""
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


def _add(graph: Graph, made: dict[str, Array], preferred: str, array: Array) -> str:
    name = fresh_name(preferred, graph.types, made)
    made[name] = array
    return name
