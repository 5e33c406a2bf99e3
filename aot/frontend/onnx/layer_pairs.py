"""Layers of products in a float model, and pairs of which the second alone reads the first's channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import onnx

_LINEAR = ("Conv", "Gemm")
# Ops between that give each channel multiplied by a positive number as many times as much.
_PASSING = ("Relu", "LeakyRelu", "MaxPool", "AveragePool", "GlobalAveragePool")


@dataclass(frozen=True, slots=True)
class LinearLayer:
    """A convolution or a Gemm whose weights are constants that it alone reads."""

    reads: str
    value: str  # its result
    op: str
    weights: str
    bias: str  # empty: it has none
    channels_first: bool  # weights have the result's channels on axis 0
    groups: int
    inputs: int  # channels of each group

    @property
    def is_depthwise(self) -> bool:
        return self.groups > 1 and self.inputs == 1

    @property
    def takes_channels(self) -> bool:
        """True where each channel that it reads has weights of its own, one axis of them or some."""
        return self.groups == 1 or self.is_depthwise


@dataclass(frozen=True, slots=True)
class LayerPair:
    first: LinearLayer
    second: LinearLayer

    @property
    def between(self) -> str:
        """The value that the second reads."""
        return self.second.reads


def layers_of(graph: onnx.GraphProto) -> Iterator[LinearLayer]:
    """The layers in their order."""
    constants = {each.name: tuple(each.dims) for each in graph.initializer}
    reads = Counter(name for node in graph.node for name in node.input)
    for node in graph.node:
        names = [*node.input, "", ""][:3]
        if node.op_type not in _LINEAR or any(n and (n not in constants or reads[n] > 1) for n in names[1:]):
            continue
        numbers = {each.name: each for each in node.attribute}
        is_plain = all(numbers[name].f == 1 for name in ("alpha", "beta") if name in numbers)
        shape = constants[names[1]]
        if not is_plain or (numbers["transA"].i if "transA" in numbers else 0):
            continue
        first = node.op_type == "Conv" or bool(numbers["transB"].i if "transB" in numbers else 0)
        groups = numbers["group"].i if "group" in numbers else 1
        yield LinearLayer(
            names[0],
            node.output[0],
            node.op_type,
            names[1],
            names[2],
            first,
            groups,
            shape[1 if first else 0],
        )


def pairs_of(graph: onnx.GraphProto) -> Iterator[LayerPair]:
    """Pairs with nothing between them but what passes a channel's factor on, and no other reader."""
    layers = {layer.value: layer for layer in layers_of(graph)}
    readers = Counter(name for node in graph.node for name in node.input)
    readers.update(value.name for value in graph.output)
    makers = {value: node for node in graph.node for value in node.output}
    for second in layers.values():
        value = second.reads
        while readers[value] == 1 and value in makers and makers[value].op_type in _PASSING:
            value = makers[value].input[0]
        if readers[value] == 1 and value in layers and second.takes_channels:
            yield LayerPair(layers[value], second)
