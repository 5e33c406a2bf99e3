"""Finds linear layers in a float model, and pairs whose second layer is the only reader of the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import onnx

_LINEAR = ("Conv", "Gemm")
# Ops that scale their output by the same positive factor as their input channel.
_PASSING = ("Relu", "LeakyRelu", "MaxPool", "AveragePool", "GlobalAveragePool")


@dataclass(frozen=True, slots=True)
class LinearLayer:
    """A convolution or Gemm with constant weights that no other node reads."""

    reads: str
    value: str  # its result
    op: str
    weights: str
    bias: str  # empty: none
    channels_first: bool  # weights have the output channels on axis 0
    groups: int
    inputs: int  # input channels of each group

    @property
    def is_depthwise(self) -> bool:
        return self.groups > 1 and self.inputs == 1

    @property
    def takes_channels(self) -> bool:
        """Returns whether each input channel has separate weights, on one axis or several."""
        return self.groups == 1 or self.is_depthwise


@dataclass(frozen=True, slots=True)
class LayerPair:
    first: LinearLayer
    second: LinearLayer

    @property
    def between(self) -> str:
        """Returns the value that the second layer reads."""
        return self.second.reads


def layers_of(graph: onnx.GraphProto) -> Iterator[LinearLayer]:
    """Yields the layers in order."""
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
    """Yields pairs connected only by ops that pass on a channel's factor, without other readers."""
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
