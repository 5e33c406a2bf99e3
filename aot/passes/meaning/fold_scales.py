"""A constant factor or term per channel is folded into the weights and the bias of the preceding layer."""

from __future__ import annotations

from collections import ChainMap
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
from aot.passes.outcome import Miss, Outcome, outcome
from aot.passes.values import fresh_name, needed_elsewhere, source_of

Vector = npt.NDArray[np.float32]
# The weights' axis of output channels.
_CHANNEL_AXIS: Mapping[type[Op], int] = {Conv2d: 0, Dense: 0, DepthwiseConv2d: 2}


def fold_scales(graph: Graph) -> Outcome:
    """Folds floats only. The addition or product becomes a view, which remove-identity removes."""
    folded, left = _Folded(graph), dict[str, str]()
    for node in graph.nodes:
        if not _has_constant(graph, node):
            continue
        why_not = folded.fold(node)
        if why_not is not None:
            left[node.name] = why_not.because
    return outcome(graph, folded.graph(), left, "no float is multiplied by a constant, or added to one")


def _has_constant(graph: Graph, node: Node) -> bool:
    is_real = graph.types[node.outputs[0]].dtype is DType.F32
    return isinstance(node.op, Add | Mul | Sub) and is_real and any(v in graph.constants for v in node.reads)


class _Folded:
    """The nodes and constants after the folds so far. All computed values and their readers stay."""

    def __init__(self, before: Graph) -> None:
        self._before = before
        self._nodes = {node.name: node for node in before.nodes}
        self._made: dict[str, Array] = {}
        self._constants = ChainMap(self._made, dict(before.constants))

    def graph(self) -> Graph:
        """Returns the graph after the folds; the original object if nothing was folded."""
        if all(self._nodes[node.name] is node for node in self._before.nodes):
            return self._before
        types = {name: TensorType(DType.F32, array.shape) for name, array in self._made.items()}
        return self._before.with_nodes(self._nodes.values(), types, self._made)

    def fold(self, node: Node) -> Miss | None:
        """Folds the node into the layers before it, or returns why that is impossible."""
        operands = _operands(self._before, node)
        if isinstance(operands, Miss):
            return operands
        value, constant = operands
        layers = self._layers_before(value)
        if isinstance(layers, Miss):
            return layers
        closed = next((why for layer in layers if (why := self._why_closed(layer, node.op))), None)
        if closed is not None:
            return closed
        numbers, types = _for_each_channel(self._before, constant, value), self._before.types
        if numbers is None or types[value].shape != types[node.outputs[0]].shape:
            return Miss(f'has a constant "{constant}" that is not one number for each channel of "{value}"')
        begin = 0
        for layer in layers:
            end = begin + types[layer.outputs[0]].shape[-1]
            self._nodes[layer.name] = self._changed(layer, node, numbers[begin:end])
            begin = end
        self._nodes[node.name] = replace(node, op=Reshape(types[value].shape), inputs=(value,))
        return None

    def _maker(self, value: str) -> Node | None:
        found = self._before.producers.get(value)
        return found and self._nodes[found.name]

    def _why_closed(self, layer: Node, op: Op) -> Miss | None:
        """Returns why a layer cannot be changed, such as computed weights or integers; None if it can."""
        if not all(name is None or name in self._constants for name in layer.inputs[1:]):
            return Miss(f'follows "{layer.name}", whose weights or bias are computed')
        weights = self._constants[layer.reads[1]]
        if weights.dtype != np.float32 and isinstance(op, Mul):
            kind = self._before.types[layer.reads[1]].dtype.value
            return Miss(f'follows "{layer.name}", whose weights are {kind} with their own scales')
        maker = self._maker(layer.reads[0])
        if maker is not None and isinstance(maker.op, DynamicQuantize):
            return Miss(f'follows "{layer.name}", whose integer sums are exact')
        return None

    def _layers_before(self, value: str) -> list[Node] | Miss:
        """Returns the layers without activation that together compute the value's channels, for no other
        reader.

        Reshapes that keep the channels, and concatenations of channels, may come between.
        """
        types = self._before.types
        channels = types[value].shape[-1:]
        while (shared := needed_elsewhere(self._before, value)) is None:
            maker = self._maker(value)
            if maker is None:
                return Miss(f'reads "{value}", {source_of(self._before, value)}: no layer computes it')
            if types[value].shape[-1:] != channels:
                return Miss(f'reads a view of "{value}", which has other channels')
            if isinstance(maker.op, Conv2d | Dense | DepthwiseConv2d):
                return [maker] if maker.op.activation is Activation.NONE else _after_activation(maker)
            if isinstance(maker.op, Concat) and maker.op.axis in (-1, len(types[value].shape) - 1):
                return self._layers_of_parts(maker)
            if not isinstance(maker.op, Reshape):
                return Miss(f'follows "{maker.name}" ({maker.op.name}), which has no weights')
            value = maker.reads[0]
        return shared

    def _layers_of_parts(self, join: Node) -> list[Node] | Miss:
        if len(set(join.reads)) < len(join.reads):
            return Miss(f'follows "{join.name}", which joins a value to itself')
        layers: list[Node] = []
        for part in join.reads:
            found = self._layers_before(part)
            if isinstance(found, Miss):
                return found
            layers += found
        return layers

    def _changed(self, layer: Node, node: Node, numbers: Vector) -> Node:
        assert isinstance(layer.op, Conv2d | Dense | DepthwiseConv2d)
        assert isinstance(node.op, Add | Mul | Sub)
        weights, bias = layer.inputs[1], layer.inputs[2] if len(layer.inputs) > 2 else None
        b = np.zeros(numbers.shape, np.float32) if bias is None else self._constants[bias]
        if isinstance(node.op, Mul):
            weights = self._add(f"{node.name}/weights", self._scaled(layer, numbers))
        if bias is not None or not isinstance(node.op, Mul):
            (total,) = replace(node.op, activation=Activation.NONE).reference([b, numbers], *_types(numbers))
            bias = self._add(f"{node.name}/bias", total)
        op = replace(layer.op, activation=node.op.activation)
        return replace(layer, op=op, inputs=(layer.inputs[0], weights, bias))

    def _scaled(self, layer: Node, factors: Vector) -> Array:
        weights = self._constants[layer.inputs[1] or ""].astype(np.float32)
        axis = _CHANNEL_AXIS[type(layer.op)]
        return weights * factors.reshape([-1 if a == axis else 1 for a in range(weights.ndim)])

    def _add(self, preferred: str, array: Array) -> str:
        name = fresh_name(preferred, self._before.types, self._made)
        self._made[name] = array
        return name


def _operands(graph: Graph, node: Node) -> tuple[str, str] | Miss:
    """Returns the computed operand and the constant one."""
    first, second = node.reads
    if second in graph.constants:
        return first, second
    return Miss("subtracts from a constant") if isinstance(node.op, Sub) else (second, first)


def _after_activation(layer: Node) -> Miss:
    return Miss(f'follows "{layer.name}", which has a fused activation')


def _for_each_channel(graph: Graph, constant: str, value: str) -> Vector | None:
    array = graph.constants[constant]
    channels = graph.types[value].shape[-1]
    if array.size not in (1, channels) or (array.size > 1 and array.shape[-1] != channels):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,)).astype(np.float32)


def _types(numbers: Vector) -> tuple[list[TensorType], list[TensorType]]:
    tensor = TensorType(DType.F32, numbers.shape)
    return [tensor, tensor], [tensor]
