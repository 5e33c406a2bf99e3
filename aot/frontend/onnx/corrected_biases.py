"""Corrects biases for the average error that rounded weights add to each channel, measured on samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from aot.frontend.onnx.layer_pairs import LinearLayer, layers_of
from aot.ir.types import Array

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
