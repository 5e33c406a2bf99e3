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
from aot.ops.own_steps import DynamicQuantize
from aot.ops.reshape import Reshape
from aot.passes.outcome import Miss, Outcome
from aot.passes.rewrite import rewrite
from aot.passes.values import NewValues, sole_makers
from aot.patterns.pattern import Match, any_of, constant, has_type, is_op, wildcard

Vector = npt.NDArray[np.float32]
# The weights' axis of output channels.
_CHANNEL_AXIS: Mapping[type[Op], int] = {Conv2d: 0, Dense: 0, DepthwiseConv2d: 2}
_VALUE, _CONSTANT = wildcard("value"), constant()
_WITH_CONSTANT = any_of(
    *(is_op(op)(_VALUE, _CONSTANT) for op in ("add", "mul", "sub")),
    *(is_op(op)(_CONSTANT, _VALUE) for op in ("add", "mul", "sub")),
)


def fold_scales(graph: Graph) -> Outcome:
    """Folds floats only. The addition or product becomes a view, which remove-identity removes."""
    no_candidate = "no float is multiplied by a constant, or added to one"
    return rewrite(graph, has_type(_WITH_CONSTANT, DType.F32), _folded, no_candidate)


def _folded(graph: Graph, found: Match) -> Graph | Miss:
    """Returns the graph with changed layers before the node, or why that is impossible."""
    node, value, constant = graph.producers[found.value], found[_VALUE], found[_CONSTANT]
    if isinstance(node.op, Sub) and node.reads[0] == constant:
        return Miss("subtracts from a constant")
    layers = sole_makers(graph, value, lambda maker: _is_layer(graph, maker))
    if isinstance(layers, Miss):
        return layers
    closed = next((why for layer in layers if (why := _why_closed(graph, layer, node.op))), None)
    if closed is not None:
        return closed
    numbers, types = _for_each_channel(graph, constant, value), graph.types
    if numbers is None or types[value].shape != types[found.value].shape:
        return Miss(f'has a constant "{constant}" that is not one number for each channel of "{value}"')
    new, begin, changed = NewValues(graph), 0, dict[str, Node]()
    for layer in layers:
        end = begin + types[layer.outputs[0]].shape[-1]
        changed[layer.name] = _changed(layer, node, numbers[begin:end], new)
        begin = end
    changed[node.name] = replace(node, op=Reshape(types[value].shape), inputs=(value,))
    return graph.with_changed(changed, new.types, new.constants)


def _is_layer(graph: Graph, maker: Node) -> bool | Miss:
    """Returns whether it is a layer without activation; False for what keeps the channels of such."""
    if isinstance(maker.op, Conv2d | Dense | DepthwiseConv2d):
        is_open = maker.op.activation is Activation.NONE
        return is_open or Miss(f'follows "{maker.name}", which has a fused activation')
    sizes = [graph.types[v].shape[-1:] for v in (*maker.reads, *maker.outputs)]
    if isinstance(maker.op, Reshape):
        has_same = sizes[0] == sizes[1]
        return not has_same and Miss(f'reads a view of "{maker.reads[0]}", which has other channels')
    if not isinstance(maker.op, Concat) or maker.op.axis not in (-1, graph.types[maker.outputs[0]].rank - 1):
        return Miss(f'follows "{maker.name}" ({maker.op.name}), which has no weights')
    is_twice = len(set(maker.reads)) < len(maker.reads)
    return is_twice and Miss(f'follows "{maker.name}", which joins a value to itself')


def _why_closed(graph: Graph, layer: Node, op: Op) -> Miss | None:
    """Returns why a layer cannot be changed, such as computed weights or integers; None if it can."""
    if not all(name is None or name in graph.constants for name in layer.inputs[1:]):
        return Miss(f'follows "{layer.name}", whose weights or bias are computed')
    weights = graph.types[layer.reads[1]].dtype
    if weights is not DType.F32 and isinstance(op, Mul):
        return Miss(f'follows "{layer.name}", whose weights are {weights.value} with their own scales')
    maker = graph.producers.get(layer.reads[0])
    if maker is not None and isinstance(maker.op, DynamicQuantize):
        return Miss(f'follows "{layer.name}", whose integer sums are exact')
    return None


def _changed(layer: Node, node: Node, numbers: Vector, new: NewValues) -> Node:
    assert isinstance(layer.op, Conv2d | Dense | DepthwiseConv2d)
    assert isinstance(node.op, Add | Mul | Sub)
    constants, weights = new.graph.constants, layer.inputs[1]
    bias = layer.inputs[2] if len(layer.inputs) > 2 else None
    b = np.zeros(numbers.shape, np.float32) if bias is None else constants[bias]
    if isinstance(node.op, Mul):
        weights = _constant(new, f"{node.name}/weights", _scaled(layer, constants[weights or ""], numbers))
    if bias is not None or not isinstance(node.op, Mul):
        kind = TensorType(DType.F32, numbers.shape)
        (total,) = replace(node.op, activation=Activation.NONE).reference([b, numbers], [kind, kind], [kind])
        bias = _constant(new, f"{node.name}/bias", total)
    op = replace(layer.op, activation=node.op.activation)
    return replace(layer, op=op, inputs=(layer.inputs[0], weights, bias))


def _scaled(layer: Node, weights: Array, factors: Vector) -> Array:
    axis = _CHANNEL_AXIS[type(layer.op)]
    return weights.astype(np.float32) * factors.reshape([-1 if a == axis else 1 for a in range(weights.ndim)])


def _constant(new: NewValues, preferred: str, array: Array) -> str:
    return new.constant(preferred, TensorType(DType.F32, array.shape), array)


def _for_each_channel(graph: Graph, constant: str, value: str) -> Vector | None:
    array = graph.constants[constant]
    channels = graph.types[value].shape[-1]
    if array.size not in (1, channels) or (array.size > 1 and array.shape[-1] != channels):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,)).astype(np.float32)
