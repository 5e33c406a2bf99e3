"""Changes a float model's weights before it is quantized: equal ranges, four bits, corrected biases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from aot.ir.types import Array

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


# Equalizes the ranges of a float model's channels, so that one step size suits them all.
#
# The layer that computes a channel divides by a factor, and the layer that reads it multiplies by it: results
# are the same. The first layer's weights have a step per channel, so they lose nothing. The second layer's
# weights become less equal, except if each of its input channels has a separate step.

FloatArray = npt.NDArray[np.float64]
_MAX_CHANNEL_FACTOR = 256.0  # largest ratio of two channels' factors


def with_values_between(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Returns the model with more outputs: the scalable values with a single reader, and their names."""
    model = onnx.load_from_string(data)
    names = tuple(pair.between for pair in pairs_of(model.graph))
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names]
    model.graph.output.extend(outputs)
    return bytes(model.SerializeToString()), names


def with_like_ranges(data: bytes, largest: Mapping[str, Array]) -> bytes:
    """Returns the model with scaled weights. `largest` has the largest magnitude of each channel by value."""
    model = onnx.load_from_string(data)
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    changed: dict[str, Array] = {}
    for pair in pairs_of(model.graph):
        factors = _factors(pair, largest[pair.between], {**constants, **changed})
        first, second = pair.first, pair.second
        _multiply(changed, constants, first.weights, 1 / factors, 0 if first.channels_first else 1)
        if first.bias:
            _multiply(changed, constants, first.bias, 1 / factors, 0)
        if second.is_depthwise:
            each = np.repeat(factors, constants[second.weights].shape[0] // second.groups)
            _multiply(changed, constants, second.weights, each, 0)
        else:
            _multiply(changed, constants, second.weights, factors, 1 if second.channels_first else 0)
    for constant in model.graph.initializer:
        if constant.name in changed:
            constant.CopyFrom(
                numpy_helper.from_array(changed[constant.name].astype(np.float32), constant.name)
            )
    return bytes(model.SerializeToString())


def _factors(pair: LayerPair, largest: Array, constants: Mapping[str, Array]) -> FloatArray:
    """Returns the divisor of each channel: its range if that costs nothing, else the root of its share."""
    seen: FloatArray = largest.astype(np.float64)
    if not pair.second.is_depthwise:
        read: FloatArray = _reach(pair.second, constants[pair.second.weights])
        seen = np.sqrt(np.divide(seen, read, out=np.zeros_like(seen), where=read > 0))
    top = float(seen.max(initial=0))
    alike: FloatArray = np.clip(seen / top, 1 / _MAX_CHANNEL_FACTOR, 1.0) if top else np.ones_like(seen)
    return np.where(seen > 0, alike, 1.0)


def _reach(layer: LinearLayer, weights: Array) -> FloatArray:
    """Returns the largest weight of each input channel."""
    axis = 1 if layer.channels_first else 0
    others = tuple(each for each in range(weights.ndim) if each != axis)
    largest: FloatArray = np.abs(weights.astype(np.float64)).max(axis=others)
    return largest


def _multiply(
    changed: dict[str, Array], constants: Mapping[str, Array], name: str, factors: Array, axis: int
) -> None:
    before = changed.get(name, constants[name])
    shape = [1] * before.ndim
    shape[axis] = -1
    changed[name] = np.multiply(before, factors.reshape(shape), dtype=np.float64)


# Rounds weights of a float model to four bits, with a step size per output channel.
#
# The values stay floats: an eight-bit quantizer that is given the step sizes writes integers from -8 to 7.

_LOW, _HIGH = -8, 7
_SHARES = np.linspace(0.5, 1.0, 26)  # of a channel's largest weight, tried as the end of the range
_MATRIX_OPS = ("Gemm", "MatMul")


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a linear layer; no other node reads them."""

    name: str
    value: str  # the layer's result
    op: str
    axis: int  # of the output channels
    elements: int
    node: str


def layer_weights(data: bytes) -> tuple[Weights, ...]:
    """Returns the weights of convolutions and matrix products, except depthwise layers, which are small."""
    model = onnx.load_from_string(data)
    constants = {each.name: each for each in model.graph.initializer}
    reads = [name for node in model.graph.node for name in node.input]
    found = []
    for node in model.graph.node:
        name = node.input[1] if len(node.input) > 1 else ""
        axis = _channel_axis(node)
        if axis is None or name not in constants or reads.count(name) > 1:
            continue
        shape = tuple(constants[name].dims)
        if node.op_type in _MATRIX_OPS and len(shape) != 2:
            continue
        found.append(Weights(name, node.output[0], node.op_type, axis, int(np.prod(shape)), node.name))
    return tuple(found)


def _channel_axis(node: onnx.NodeProto) -> int | None:
    """Returns the axis of the weights' output channels; None if the layer's weights are not rounded."""
    numbers = {each.name: each.i for each in node.attribute}
    if node.op_type == "Conv":
        return 0 if numbers.get("group", 1) == 1 else None
    if node.op_type in _MATRIX_OPS:
        return 0 if numbers.get("transB") else 1
    return None


def narrowed(data: bytes, names: Collection[str]) -> tuple[bytes, Mapping[str, Array]]:
    """Returns the model with these weights in four bits, and the step sizes of each channel."""
    model = onnx.load_from_string(data)
    axes = {each.name: each.axis for each in layer_weights(data)}
    steps = {}
    for constant in model.graph.initializer:
        if constant.name in names:
            rounded, steps[constant.name] = in_four_bits(numpy_helper.to_array(constant), axes[constant.name])
            constant.CopyFrom(numpy_helper.from_array(rounded, constant.name))
    return model.SerializeToString(), steps


def in_four_bits(weights: Array, axis: int) -> tuple[Array, Array]:
    """Returns the nearest weights that are -8 to 7 steps, and each channel's step size.

    A channel gets the step size with the least squared error; some of its largest weights may be clamped.
    """
    rows = np.moveaxis(weights.astype(np.float64), axis, 0)
    flat = rows.reshape(rows.shape[0], -1)
    largest = np.abs(flat).max(axis=1)
    tried = np.where(largest > 0, largest, 1.0)[:, None] * _SHARES / _HIGH
    errors = np.stack([np.square(np.subtract(_rounded(flat, each), flat)).sum(axis=1) for each in tried.T])
    steps = np.take_along_axis(tried, errors.argmin(axis=0)[:, None], axis=1)[:, 0].astype(np.float32)
    nearest = np.moveaxis(_rounded(flat, steps).reshape(rows.shape), 0, axis)
    return nearest.astype(np.float32), steps


def _rounded(flat: Array, steps: Array) -> Array:
    each = steps.astype(np.float64)[:, None]
    return np.asarray(np.clip(np.rint(np.divide(flat, each)), _LOW, _HIGH) * each)


_LARGEST_WEIGHT = 127  # of weights as integers


def with_differences(data: bytes, rounded: bytes) -> tuple[bytes, Mapping[str, str]]:
    """Returns a model that outputs the rounding error of each layer, and the layer's value by output.

    `rounded` is the same model with some weights already rounded; the others are rounded to eight bits.
    """
    model = onnx.load_from_string(data)
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    after = {
        each.name: numpy_helper.to_array(each) for each in onnx.load_from_string(rounded).graph.initializer
    }
    makers = {node.output[0]: node for node in model.graph.node}
    found: dict[str, str] = {}
    for layer in list(layers_of(model.graph)):
        weights = constants[layer.weights]
        was_rounded = not np.array_equal(after[layer.weights], weights)
        kept = after[layer.weights] if was_rounded else _in_eight_bits(weights, layer)
        name, difference = f"{layer.value}/difference", f"{layer.weights}/difference"
        found[name] = layer.value
        model.graph.initializer.append(
            numpy_helper.from_array(np.subtract(kept, weights, dtype=np.float32), difference)
        )
        node = makers[layer.value]
        added = helper.make_node(layer.op, [layer.reads, difference], [name])
        added.attribute.extend(node.attribute)
        model.graph.node.append(added)
        model.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    return bytes(model.SerializeToString()), found


def _in_eight_bits(weights: Array, layer: LinearLayer) -> Array:
    """Returns the weights rounded to whole steps, one step size per output channel."""
    axis = 0 if layer.channels_first else 1
    others = tuple(each for each in range(weights.ndim) if each != axis)
    largest = np.abs(weights.astype(np.float64)).max(axis=others, keepdims=True)
    steps = np.where(largest > 0, largest, 1.0) / _LARGEST_WEIGHT
    return np.asarray(np.rint(np.divide(weights, steps)) * steps, np.float32)


def with_corrected_biases(data: bytes, means: Mapping[str, Array]) -> bytes:
    """Subtracts the means from the layers' biases; adds biases to layers without one."""
    model = onnx.load_from_string(data)
    places = {each.name: number for number, each in enumerate(model.graph.initializer)}
    makers = {node.output[0]: node for node in model.graph.node}
    for layer in list(layers_of(model.graph)):
        mean = means[layer.value].astype(np.float64)
        if layer.bias:
            constant = model.graph.initializer[places[layer.bias]]
            before = numpy_helper.to_array(constant).astype(np.float64)
            constant.CopyFrom(numpy_helper.from_array((before - mean).astype(np.float32), layer.bias))
            continue
        name = f"{layer.weights}/bias"
        model.graph.initializer.append(numpy_helper.from_array((-mean).astype(np.float32), name))
        node = makers[layer.value]
        del node.input[2:]
        node.input.append(name)
    return bytes(model.SerializeToString())
